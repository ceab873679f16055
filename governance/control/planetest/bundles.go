package planetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/evidence"
	"github.com/assay-run/assay/host/base/bucket"
	"github.com/assay-run/assay/host/base/digest"
)

// Origin is the log's name.
const Origin = "governance.lab.example"

// Start is the time at which planes start.
var Start = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

const day = 24 * time.Hour

// Run is a run that was completed some time before now.
func Run(now time.Time, id string, role bundle.Role, age time.Duration,
	summary map[string]float64) bundle.Run {
	done := now.Add(-age).Truncate(time.Second)
	return bundle.Run{
		RunID: id, Role: role, RequestHash: digest.SHA256Hex([]byte("question " + id)),
		ReportSHA256: digest.SHA256Hex([]byte("report " + id)),
		StartedAt:    bundle.FormatTime(done.Add(-time.Hour)), CompletedAt: bundle.FormatTime(done),
		Summary: summary,
		Splits: []bundle.Split{{SplitID: "test", Kind: "test",
			Metrics: map[string]float64{"sharpe_ratio": 1}}},
	}
}

// Soaked is a run that went on for fifteen days until a minute before now.
func Soaked(now time.Time, role bundle.Role) bundle.Run {
	r := Run(now, "soak-"+string(role), role, time.Minute, map[string]float64{"diverging_fills": 0})
	seconds := 15 * day.Seconds()
	done, _ := time.Parse(time.RFC3339, r.CompletedAt)
	r.StartedAt, r.CoveredSeconds = bundle.FormatTime(done.Add(-15*day)), &seconds
	return r
}

// Good is a bundle that passes plan(paper), and what edit makes of it.
func Good(now time.Time, edit ...func(*bundle.Bundle)) *bundle.Document {
	b := bundle.Bundle{
		Candidate: bundle.Candidate{
			CandidateID: "sma-cross.btc-usdt-1h", FamilyID: "sma-cross", Slug: "sma-cross", Owner: Owner,
			Lineage: bundle.Lineage{ChangeClass: bundle.ChangeInitial},
		},
		Strategy: bundle.Strategy{
			Name: "sma_cross", Version: "1.0.0", Params: json.RawMessage(`{"fast":10}`),
			Symbols: []string{"BTC/USDT"}, Timeframes: []string{"1h"},
			Plugin: bundle.Plugin{SHA256: digest.SHA256Hex([]byte("plugin")), Size: 1, OS: "linux",
				Arch: "amd64", ProtocolVersion: 1},
		},
		Engine: bundle.Engine{Name: "assay", Version: "1"},
		Data: []bundle.Dataset{{
			DatasetID: "binance-btc-usdt-1h", SHA256: digest.SHA256Hex([]byte("candles")), Rows: 8760,
			Start: "2023-01-01T00:00:00.000Z", End: "2024-01-01T00:00:00.000Z",
		}},
		Runs: []bundle.Run{
			Run(now, "base", bundle.RoleBaseline, day,
				map[string]float64{"total_trades": 100, "max_drawdown": 0.2, "stress_failed": 0}),
			Run(now, "false", bundle.RoleFalsification, day, map[string]float64{"gates_failed": 0}),
		},
		Trials: &bundle.Trials{FamilyTrials: 12},
		Limits: bundle.Limits{
			MaxCapital: "10000", MaxOrderValue: "500", MaxPositionValue: "2500", MaxOrdersPerMinute: 10,
			MaxInstruments: 1, MaxVenues: 1,
			MaxDrawdown: "0.25", MaxDailyLoss: "300",
		},
		SealRequest: bundle.SealRequest{
			RequestedStage: bundle.Live, RequestedBy: "requester@example.com",
			RequestedAt: bundle.FormatTime(now),
			ExpiresAt:   bundle.FormatTime(now.Add(30 * day)), LogOrigin: Origin,
		},
	}
	for _, e := range edit {
		e(&b)
	}
	Prove(&b)
	doc, err := bundle.Seal(b)
	if err != nil {
		panic(err) // a mistake of the test
	}
	return doc
}

// Params gives a bundle other parameters: another revision that would run something else.
func Params(text string) func(*bundle.Bundle) {
	return func(b *bundle.Bundle) { b.Strategy.Params = json.RawMessage(text) }
}

// Target asks for another stage.
func Target(s bundle.Stage) func(*bundle.Bundle) {
	return func(b *bundle.Bundle) { b.SealRequest.RequestedStage = s }
}

// Title gives a bundle a title: another revision that would run the same.
func Title(s string) func(*bundle.Bundle) { return func(b *bundle.Bundle) { b.Candidate.Title = s } }

// Size fills a bundle up to about so many bytes.
func Size(bytes int) func(*bundle.Bundle) {
	return func(b *bundle.Bundle) {
		for range bytes / 1000 {
			b.KnownLimitations = append(b.KnownLimitations, strings.Repeat("x", 997))
		}
	}
}

// WithSoaks adds fifteen days of paper and canary.
func WithSoaks(now time.Time) func(*bundle.Bundle) {
	return func(b *bundle.Bundle) {
		b.Runs = append(b.Runs, Soaked(now, bundle.RolePaper), Soaked(now, bundle.RoleCanary))
	}
}

// Replay reports that all runs of a bundle gave the same reports and numbers.
func Replay(doc *bundle.Document, now time.Time) bundle.Replay {
	r := bundle.Replay{Common: Common(doc, now)}
	read := Evidence(&doc.Bundle)
	for i, run := range doc.Bundle.Runs {
		again := bundle.ReplayedRun{
			RunID: run.RunID, RequestHash: run.RequestHash, ReportSHA256: run.ReportSHA256,
			Trades: []bundle.SplitTrades{},
		}
		if read != nil {
			again.Inputs = &bundle.Inputs{
				Summary: run.Summary, Splits: run.Splits, Falsification: read[i].Falsification,
				Derived: read[i].Derived,
			}
		}
		r.Runs = append(r.Runs, again)
	}
	return r
}

// object is a JSON object of a file that a lab or a host would write.
type object map[string]any

// counted are the members of a summary that are no metrics.
var counted = []string{"stress_failed", "gates_failed", "diverging_fills"}

// Prove gives the runs of a bundle the files that come to what it declares: their hashes are
// in the bundle afterwards, and the files are what Files returns.
func Prove(b *bundle.Bundle) {
	for i := range b.Runs {
		run := &b.Runs[i]
		metrics := maps.Clone(run.Summary)
		for _, name := range counted {
			delete(metrics, name)
		}
		split := bundle.Split{SplitID: "test", Kind: "test", Metrics: metrics}
		switch {
		case run.Role == bundle.RoleFalsification:
			searched := map[string]float64{"sharpe_ratio": 1}
			split = bundle.Split{SplitID: "search", Kind: "search", Metrics: searched}
		case run.Role.Venue():
			split = bundle.Split{SplitID: "full", Kind: "full", Metrics: metrics}
			seconds := completed(run).Sub(started(run)).Seconds()
			if run.CoveredSeconds != nil {
				seconds = min(seconds, *run.CoveredSeconds)
			}
			run.CoveredSeconds = &seconds
		}
		run.Splits = []bundle.Split{split}
	}
	for i := range b.Runs { // a falsification names the question of its base
		b.Runs[i].RequestHash = digest.SHA256Hex(encode(request(b, &b.Runs[i])))
	}
	for i := range b.Runs {
		run := &b.Runs[i]
		for _, f := range files(b, run) {
			switch sum := digest.SHA256Hex(f.text); f.name {
			case evidence.MetadataName:
				run.MetadataSHA256 = sum
			default:
				if f.name == evidence.ReportName {
					run.ReportSHA256 = sum
				}
				b.Artifacts = append(b.Artifacts, bundle.Artifact{
					Name: "runs/" + run.RunID + "/" + f.name, SHA256: sum, Size: int64(len(f.text)),
					RunID: run.RunID,
				})
			}
		}
	}
}

// Files are the files of a bundle that Prove has seen, by name. Of a bundle that was changed
// since they are others than its hashes say.
func Files(b *bundle.Bundle) map[string][]byte {
	all := map[string][]byte{}
	for i := range b.Runs {
		for _, f := range files(b, &b.Runs[i]) {
			all["runs/"+b.Runs[i].RunID+"/"+f.name] = f.text
		}
	}
	return all
}

// Evidence is what the files of a bundle come to, nil where they are not those of its hashes
// or it declares something else.
func Evidence(b *bundle.Bundle) []bundle.RunEvidence {
	all := Files(b)
	own := func(name, sum string) ([]byte, error) {
		if text := all[name]; digest.SHA256Hex(text) == sum {
			return text, nil
		}
		return nil, fs.ErrNotExist
	}
	list, err := evidence.Check(b, func(at string) string { return at }, own)
	if err != nil {
		return nil
	}
	return list
}

// Put writes files below a folder, or into the bucket that the environment of the test names.
func Put(root string, files map[string][]byte) error {
	if bucket.Is(root) {
		b, err := bucket.Open(root, os.Getenv)
		for name, text := range files {
			if err == nil {
				err = b.Put(context.Background(), name, text)
			}
		}
		return err
	}
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Killed is the metadata.json of a paper run of a bundle's program in which the kill switch
// acted, and which ended then.
func Killed(b *bundle.Bundle, id string, ended time.Time) string {
	m := metadata(b, &bundle.Run{
		RunID: id, Role: bundle.RolePaper, RequestHash: digest.SHA256Hex([]byte(id)),
		StartedAt: bundle.FormatTime(ended.Add(-time.Hour)), CompletedAt: bundle.FormatTime(ended),
	})
	m["status"], m["failure"] = "failed", object{"code": "RISK_KILL"}
	return string(encode(m))
}

type file struct {
	name string
	text []byte
}

func files(b *bundle.Bundle, run *bundle.Run) []file {
	if len(run.Splits) == 0 || len(b.Strategy.Timeframes) == 0 {
		return nil // Prove has not seen it
	}
	list := []file{
		{evidence.ReportName, encode(report(b, run))}, {evidence.RequestName, encode(request(b, run))},
		{evidence.MetadataName, encode(metadata(b, run))},
	}
	if earns(b) {
		list = append(list, tables(b, run)...)
	}
	switch {
	case run.Role == bundle.RoleFalsification:
		list = append(list, file{evidence.AttackName, encode(attack(b, run))})
	case !run.Role.Venue():
		locked := object{"split_id": "test", "metrics": run.Splits[0].Metrics}
		list = append(list, file{evidence.LockedName, encode(locked)})
	}
	return list
}

func encode(o object) []byte {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return text
}

func kind(r bundle.Role) string {
	switch {
	case r == bundle.RoleFalsification:
		return "falsification"
	case r.Venue():
		return "service"
	}
	return "run"
}

func moment(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

func started(run *bundle.Run) time.Time   { return moment(run.StartedAt) }
func completed(run *bundle.Run) time.Time { return moment(run.CompletedAt) }

func request(b *bundle.Bundle, run *bundle.Run) object {
	data, start, end := refs(b, run)
	inputs := object{"plugin_sha256": b.Strategy.Plugin.SHA256, "data": data}
	if earns(b) {
		inputs["engine"] = object{"sha256": strings.Repeat("a", 64)}
	}
	return object{
		"schema": "evaluation-request/v1", "kind": kind(run.Role), "strategy_params": b.Strategy.Params,
		"symbols": b.Strategy.Symbols, "timeframe": b.Strategy.Timeframes[0],
		"exchange": strings.Join(b.Strategy.Exchanges, ""), "start_date": start, "end_date": end,
		"inputs": inputs, "seed": run.RunID,
	}
}

// refs are the candles that a run was asked about, one dataset for each symbol, and their time. A run
// out of sample has those that its bundle lists after the others, a paper or live run none.
func refs(b *bundle.Bundle, run *bundle.Run) (list []object, start, end string) {
	list, data := []object{}, b.Data
	if run.Role.Venue() {
		return list, run.StartedAt, run.CompletedAt
	}
	if n := len(b.Strategy.Symbols); run.Role == bundle.RoleOOS && len(data) >= 2*n {
		data = data[n:]
	}
	for i, symbol := range b.Strategy.Symbols[:min(len(data), len(b.Strategy.Symbols))] {
		d := &data[i]
		list = append(list, object{"symbol": symbol, "timeframe": b.Strategy.Timeframes[0],
			"sha256": d.SHA256, "start": moment(d.Start).UnixMilli(), "end": moment(d.End).UnixMilli()})
		if i == 0 || moment(d.Start).Before(moment(start)) {
			start = d.Start
		}
		if i == 0 || moment(d.End).After(moment(end)) {
			end = d.End
		}
	}
	return list, start, end
}

func report(b *bundle.Bundle, run *bundle.Run) object {
	s := run.Splits[0]
	metrics := s.Metrics
	if kind(run.Role) == "run" {
		metrics = map[string]float64{} // locked
	}
	o := object{
		"schema": "report/v1", "run_id": run.RunID, "request_hash": run.RequestHash, "kind": kind(run.Role),
		"status": "completed",
		"splits": []object{{"split_id": s.SplitID, "role": s.Kind, "metrics": metrics}},
		"stress": []object{}, "walk_forward": nil,
	}
	if n, ok := run.Summary["stress_failed"]; ok {
		list := []object{{"id": "cost_x2", "verdict": "pass"}}
		for range int(n) {
			list = append(list, object{"id": "delay_1", "verdict": "fail"})
		}
		o["stress"], o["stress_failed"] = list, n
	}
	if n, ok := run.Summary["gates_failed"]; ok {
		o["gates_failed"] = n
	}
	if run.Role == bundle.RoleFalsification {
		a := attack(b, run)
		o["falsification"] = object{"base_run_id": a["base_run_id"], "overall": a["overall"]}
	}
	return o
}

func attack(b *bundle.Bundle, run *bundle.Run) object {
	tests := []object{{"id": "determinism", "class": "G", "verdict": "pass"}}
	if earns(b) {
		tests = append(tests, object{"id": "selection_bias", "class": "G", "verdict": "pass",
			"statistic": object{"name": evidence.FigureDSR, "value": 0.97}},
			object{"id": "capacity", "class": "W", "verdict": "pass",
				"params": object{"impact": object{"capital": 10000, "bps": 5}}})
	}
	o := object{"schema": "falsification/v1", "overall": "inconclusive", "tests": tests}
	for _, base := range b.Runs {
		if base.Role == bundle.RoleBaseline {
			o["base_run_id"], o["base_request_hash"] = base.RunID, base.RequestHash
			break
		}
	}
	trials := int64(0)
	if b.Trials != nil {
		trials = b.Trials.FamilyTrials
	}
	o["ledger"] = object{"n_trials": trials}
	n, ok := run.Summary["gates_failed"]
	if !ok {
		return o
	}
	o["overall"] = "pass"
	for i := range int(n) {
		o["overall"] = "fail"
		tests = append(tests, object{"id": fmt.Sprintf("test_%d", i), "class": "G", "verdict": "fail"})
		o["tests"] = tests
	}
	return o
}

func metadata(b *bundle.Bundle, run *bundle.Run) object {
	o := object{
		"schema": "run-metadata/v1", "run_id": run.RunID, "request_hash": run.RequestHash,
		"kind":   kind(run.Role),
		"status": "completed", "params": b.Strategy.Params, "symbols": b.Strategy.Symbols,
		"timeframe": b.Strategy.Timeframes[0], "plugin": object{"sha256": b.Strategy.Plugin.SHA256},
		"volatile": object{"started_at": run.StartedAt, "completed_at": run.CompletedAt},
	}
	if run.Role.Venue() {
		service := object{"mode": "paper", "stage": run.Role, "covered_seconds": run.CoveredSeconds}
		if n, ok := run.Summary["diverging_fills"]; ok {
			service["diverging_fills"] = n
		}
		o["service"] = service
	}
	return o
}

// Drill is a drill of the kill switch on a paper run of a bundle that ended a minute ago.
func Drill(doc *bundle.Document, now time.Time, result string) bundle.Drill {
	ended := now.Add(-time.Minute).Truncate(time.Second)
	return bundle.Drill{
		Common: Common(doc, now), Drill: "kill_switch", Result: result, RunID: "drill-1",
		DoneAt: bundle.FormatTime(ended), Metadata: Killed(&doc.Bundle, "drill-1", ended),
	}
}
