package v1

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/schema"
	"github.com/assay-run/assay/api/v1/stream"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/job"
	"github.com/assay-run/assay/host/library"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/upload"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

func document(t *testing.T) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func at(v any, path ...string) any {
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

func words(v any) []string {
	var out []string
	list, _ := v.([]any)
	for _, e := range list {
		out = append(out, fmt.Sprint(e))
	}
	return out
}

// noType are schemas that are no struct of ours: words, free objects, and what the
// simulator or the error envelope write.
func noType() []string {
	return []string{"ErrorCode", "ErrorDetails", "Error", "PlainError", "RunStatus", "Mode", "Empty",
		"ExecutionOptions", "ResolvedExecution", "PerformanceMetrics", "BacktestRequest", "LiveRequest"}
}

func TestSchemasMatchStructs(t *testing.T) {
	types := map[string]any{
		"FieldError": schema.Violation{}, "RunResponse": view.RunResponse{},
		"ControlRequest": controlRequest{},
		"FailureDetails": view.FailureDetails{}, "Status": view.Status{}, "Alarm": view.Alarm{},
		"DetailedStatus": view.DetailedStatus{}, "Note": artifact.Note{},
		"EquitySampling": metric.Thinning{}, "RowsTotal": view.RowsTotal{}, "MetricsMeta": metric.Meta{},
		"Order": view.Order{}, "Fill": view.Fill{},
		"Trade": view.Trade{}, "Position": view.Position{}, "EquityPoint": view.EquityPoint{},
		"RunConfig": view.RunConfig{}, "Results": view.Results{},
		"Health": view.Health{}, "Strategy": view.Strategy{}, "Exchange": view.Exchange{},
		"DateRange": view.DateRange{}, "RunRow": library.Row{}, "RunList": list[library.Row]{},
		"ArchivedRun": library.Run{}, "RunEquity": view.RunEquity{}, "TradeList": tablePage{},
		"OrderList": tablePage{}, "FillList": tablePage{}, "RunMarks": runMarks{}, "SharedTrades": library.Shared{}, "RunCandles": runCandles{},
		"RunSeries": runSeries{}, "PublishedSeries": publishedSeries{},
		"Dataset": view.Dataset{}, "DatasetList": datasetList{}, "StoredInput": view.Input{}, "DatasetDetail": datasetDetail{},
		"GapList": list[candle.Gap]{},
		"LogList": logPage{}, "RunFiles": fileList{}, "RevealRequest": revealRequest{},
		"RunReveal": revealed{}, "NoteRequest": noteRequest{}, "RunNote": runNote{},
		"FamilyRow": library.Family{}, "SearchLuck": library.Luck{}, "SearchProgress": library.Progress{}, "FamilyList": list[library.Family]{},
		"FamilyTrialList": list[library.FamilyTrial]{}, "FalsificationResult": library.Falsification{},
		"Deprecation": view.Deprecation{}, "Meta": view.Meta{}, "Trials": registry.Place{},
		"Plot":                 sdk.Plot{},
		"FalsificationRequest": falsificationRequest{}, "SearchRequest": SearchRequest{}, "Job": job.Job{},
		"JobAnswer": jobAnswer{}, "Search": Search{}, "JobProgress": job.Progress{},
		"Upload": upload.Upload{}, "ImportRequest": ImportRequest{}, "ImportOptions": ImportOptions{},
		"FetchRequest": FetchRequest{}, "CandleReport": CandleReport{},
		"Candidate": Candidate{}, "CandidateList": list[Candidate]{}, "CandidateDetail": CandidateDetail{},
		"VerifiedStep": VerifiedStep{}, "ControlReach": client.Reach{}, "ControlReading": client.Reading{},
		"LogHead": client.Head{}, "LogEntry": client.Place{}, "Verified": client.Verified{},
		"JobError": job.Failure{}, "JobLinks": job.Links{}, "JobList": list[job.Job]{},
	}
	schemas := at(document(t), "components", "schemas").(map[string]any)
	starts := map[string]any{} // the two bodies of a start are one struct
	for _, name := range []string{"BacktestRequest", "LiveRequest"} {
		maps.Copy(starts, at(schemas, name, "properties").(map[string]any))
	}
	compare(t, "StartRequest", map[string]any{"properties": starts}, reflect.TypeFor[startRequest]())
	for name, s := range schemas {
		v, ok := types[name]
		switch {
		case ok:
			compare(t, name, s, reflect.TypeOf(v))
		case !slices.Contains(noType(), name):
			t.Errorf("schema %s has no struct: add it to this test", name)
		}
	}
	for name := range types {
		if schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
		}
	}
}

// compare holds the properties of a schema against the tags of a struct, and so on
// inside.
func compare(t *testing.T, where string, s any, typ reflect.Type) {
	t.Helper()
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Struct {
		if items := at(s, "items"); items != nil && typ.Kind() == reflect.Slice {
			s = items
		}
		typ = typ.Elem()
	}
	properties, _ := at(s, "properties").(map[string]any)
	if properties == nil || typ.Kind() != reflect.Struct {
		return
	}
	fields := tags(typ)
	want, got := slices.Sorted(maps.Keys(properties)), slices.Sorted(maps.Keys(fields))
	if !slices.Equal(want, got) {
		t.Errorf("%s: the schema has %v, the struct %v", where, want, got)
	}
	for name, field := range fields {
		compare(t, where+"."+name, properties[name], field)
	}
}

func tags(typ reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range typ.NumField() {
		f := typ.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && tag == "":
			maps.Copy(out, tags(f.Type))
		case f.IsExported() && tag != "-":
			out[tag] = f.Type
		}
	}
	return out
}

func TestOperationsMatchRoutes(t *testing.T) {
	api, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	routes := map[string]bool{}
	for _, r := range api.Routes() {
		routes[strings.ToLower(r.Method)+" "+r.Path] = true
	}
	routes["get "+stream.Path] = true // the hub's
	ids := map[string]bool{}
	for path, operations := range at(document(t), "paths").(map[string]any) {
		for method, op := range operations.(map[string]any) {
			id, _ := at(op, "operationId").(string)
			if !routes[method+" "+path] || id == "" || ids[id] || at(op, "description") == nil {
				t.Errorf("operation %s %s (%s) has no route, or no id or description of its own", method,
					path, id)
			}
			ids[id] = true
			delete(routes, method+" "+path)
		}
	}
	for r := range routes {
		t.Errorf("route %s is not described", r)
	}
}

func TestErrorCodesMatchTable(t *testing.T) {
	doc := document(t)
	var codes []string
	byStatus := map[string][]string{}
	for _, e := range problem.Table() {
		codes = append(codes, string(e.Code))
		status := fmt.Sprint(e.Status)
		byStatus[status] = append(byStatus[status], string(e.Code))
		for _, d := range e.Details {
			if at(doc, "components", "schemas", "ErrorDetails", "properties", d) == nil {
				t.Errorf("%s: detail %s is not described", e.Code, d)
			}
		}
	}
	if got := words(at(doc, "components", "schemas", "ErrorCode", "enum")); !slices.Equal(got, codes) {
		t.Errorf("the enum is %v, the table %v", got, codes)
	}
	for path, operations := range at(doc, "paths").(map[string]any) {
		for method, op := range operations.(map[string]any) {
			responses := at(op, "responses").(map[string]any)
			for status, r := range responses {
				if !problem.Coded(path) && status >= "400" &&
					at(r, "$ref") != "#/components/responses/PlainError" {
					t.Errorf("%s %s: %s has a code", method, path, status)
				}
			}
			for _, code := range words(at(op, "x-error-codes")) {
				status := fmt.Sprint(problem.Lookup(problem.Code(code)).Status)
				if !problem.Coded(path) || !slices.Contains(byStatus[status], code) ||
					at(responses[status], "$ref") != "#/components/responses/Error"+status {
					t.Errorf("%s %s: code %s, but no response %s", method, path, code, status)
				}
			}
		}
	}
}

func TestMetricsMatchSchema(t *testing.T) {
	s := at(document(t), "components", "schemas", "PerformanceMetrics")
	properties := at(s, "properties").(map[string]any)
	for _, m := range metric.All() {
		p := properties[m.Key]
		if at(p, "description") != m.Doc || at(p, "x-unit") != string(m.Unit) {
			t.Errorf("%s: the schema says %v, the metric %q in %s", m.Key, p, m.Doc, m.Unit)
		}
		delete(properties, m.Key)
	}
	for key := range properties {
		t.Errorf("there is no metric %s", key)
	}
	if got := words(at(s, "required")); !slices.Equal(got, metric.ContractKeys()) {
		t.Errorf("required: %v", got)
	}
}

func TestExecutionMatchesSimulator(t *testing.T) {
	resolved, err := sim.ResolveOptions(nil, sim.DefaultFees())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(resolved)
	if err != nil {
		t.Fatal(err)
	}
	var options map[string]any
	if err := json.Unmarshal(text, &options); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ExecutionOptions", "ResolvedExecution"} {
		properties := at(document(t), "components", "schemas", name, "properties").(map[string]any)
		if got, want := slices.Sorted(maps.Keys(properties)),
			slices.Sorted(maps.Keys(options)); !slices.Equal(got, want) {
			t.Errorf("%s has %v, the simulator %v", name, got, want)
		}
		for key, p := range properties {
			if def := at(p, "default"); def != nil && !reflect.DeepEqual(def, options[key]) {
				t.Errorf("%s: default %v, the simulator's is %v", key, def, options[key])
			}
		}
	}
}

func TestDeprecationsMatchDocument(t *testing.T) {
	registry, err := Deprecations()
	if err != nil {
		t.Fatal(err)
	}
	for path, operations := range at(document(t), "paths").(map[string]any) {
		for method, op := range operations.(map[string]any) {
			entry := registry.Endpoint(strings.ToUpper(method), path)
			marked, _ := at(op, "deprecated").(bool)
			if marked != (entry != nil) || entry != nil && at(op, "x-sunset") != entry.SunsetAt.String() {
				t.Errorf("%s %s: deprecated is %v, the registry says %v", method, path, marked, entry)
			}
		}
	}
}

func TestSecretsStayHidden(t *testing.T) {
	var r startRequest
	if err := json.Unmarshal([]byte(`{"exchange_config":{"apiKey":"hunter2"}}`), &r); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	shown := string(text) + fmt.Sprintf("%v %+v %#v %s %q %d %x", r, r, r, r.ExchangeConfig, r.ExchangeConfig,
		r.ExchangeConfig, r.ExchangeConfig) + fmt.Sprint(r.complete("live"))
	if strings.Contains(shown, "hunter2") || strings.Contains(shown, fmt.Sprintf("%x", "hunter2")) ||
		strings.Contains(shown, "104 117 110") {
		t.Error(shown)
	}
	if !strings.Contains(r.ExchangeConfig.Reveal(), "hunter2") {
		t.Error("the value is lost")
	}
}
