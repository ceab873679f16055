package candidate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// subject is what a bundle has of its candidate besides the runs.
type subject struct {
	family, owner, title, description string
	limits                            bundle.Limits
	// manifest is what is executed where the program is a bundle, nil for others.
	manifest json.RawMessage
}

// compose maps the evidence to the core of a bundle, without lineage.
func compose(e *collected, s subject, list *selection.TrialList,
	ledger selection.Digest) (bundle.Bundle, error) {
	m := e.base.meta
	extensions, err := extensionsOf(e, ledger, s.manifest)
	if err != nil {
		return bundle.Bundle{}, err
	}
	b := bundle.Bundle{
		Candidate: bundle.Candidate{
			CandidateID: candidateID(s.family, m.Symbols, m.Timeframe), FamilyID: s.family, Slug: m.Slug,
			Owner: s.owner, Title: s.title, Description: s.description,
		},
		Strategy: bundle.Strategy{
			Name: e.base.report.Strategy.Name, Version: e.base.report.Strategy.Version, Params: m.Params,
			Symbols:    m.Symbols,
			Timeframes: []string{m.Timeframe}, Exchanges: exchanges(m.Exchange), Plugin: pluginOf(m.Plugin),
		},
		Engine: bundle.Engine{Name: m.Engine.Name, Version: m.Engine.Version}, Trials: trialsOf(e, list),
		Limits: s.limits, KnownLimitations: limitations(e.base.report), Extensions: extensions,
	}
	if m.PlanID != nil {
		b.Candidate.Lineage.FamilyRunID = *m.PlanID
	}
	for _, x := range e.items {
		b.Runs = append(b.Runs, runOf(x))
		b.Data = addData(b.Data, x.meta.Data)
		for _, f := range x.meta.Artifacts {
			b.Artifacts = append(b.Artifacts, bundle.Artifact{
				Name: "runs/" + x.meta.RunID + "/" + f.Name, SHA256: f.SHA256, Size: f.Size,
				RunID: x.meta.RunID, MediaType: f.MediaType,
			})
		}
	}
	for _, x := range e.items { // behind all candles, of which the first are those of the baseline
		b.Data = addData(b.Data, x.meta.Inputs)
	}
	return b, nil
}

// candidateID is family, first symbol and timeframe, such as sma-cross.btc-usdt-1h. A month
// is mo, since m is a minute.
func candidateID(family string, symbols []string, timeframe string) string {
	symbol := ""
	if len(symbols) > 0 {
		symbol = strings.ReplaceAll(strings.ToLower(symbols[0]), "/", "-")
	}
	return family + "." + symbol + "-" + strings.ReplaceAll(timeframe, "M", "mo")
}

func exchanges(id string) []string {
	if id == "" {
		return nil
	}
	return []string{id}
}

func pluginOf(p artifact.Plugin) bundle.Plugin {
	return bundle.Plugin{
		SHA256: p.SHA256, Size: p.Size, OS: p.OS, Arch: p.Arch, ProtocolVersion: p.ProtocolVersion,
		SDKVersion: p.SDKVersion,
		GoVersion:  p.GoVersion, SourceSHA256: p.SourceSHA256,
	}
}

// limitations are what the simulation assumed.
func limitations(r *artifact.Report) []string {
	var list []string
	for _, n := range r.Assumptions {
		list = append(list, n.Code+": "+n.Message)
	}
	return list
}

// addData adds the candles that are not listed yet.
func addData(list []bundle.Dataset, data []artifact.Dataset) []bundle.Dataset {
	for _, d := range data {
		one := bundle.Dataset{DatasetID: d.ID, SHA256: d.SHA256, Rows: d.Rows, Start: d.Start.String(),
			End: d.End.String()}
		if !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}

func runOf(x *item) bundle.Run {
	v := x.meta.Volatile
	return bundle.Run{
		RunID: x.meta.RunID, Role: x.role, RequestHash: x.meta.RequestHash, ReportSHA256: reportHash(x.meta),
		MetadataSHA256: x.metaHash,
		StartedAt:      v.StartedAt.String(), CompletedAt: v.CompletedAt.String(),
		Summary: x.found.Summary, Splits: x.found.Splits, CoveredSeconds: x.found.CoveredSeconds,
	}
}

// trialsOf is how many trials there were: as many as the ledger has now, and never fewer than
// a falsification has counted.
func trialsOf(e *collected, list *selection.TrialList) *bundle.Trials {
	out := &bundle.Trials{Tried: []bundle.Trial{}}
	known := map[string]bool{}
	add := func(l *selection.TrialList) {
		for i := range l.Trials {
			if t := &l.Trials[i]; !known[t.Key] && !slices.ContainsFunc(t.Copies, func(k string) bool {
				return known[k]
			}) {
				out.Tried = append(out.Tried, trialOf(t, e.base.meta.Data))
			}
			for _, key := range append([]string{l.Trials[i].Key}, l.Trials[i].Copies...) {
				known[key] = true
			}
		}
	}
	add(list)
	out.FamilyTrials = int64(len(list.Trials))
	for _, x := range e.items {
		if x.record != nil { // of another state directory, or from before classes were joined
			add(x.record)
		}
		if f := x.found.Falsification; f != nil {
			out.FamilyTrials = max(out.FamilyTrials, f.Trials)
		}
	}
	slices.SortFunc(out.Tried, func(a, b bundle.Trial) int { return strings.Compare(a.Key, b.Key) })
	out.FamilyTrials = max(out.FamilyTrials, int64(len(out.Tried)))
	for _, k := range list.Looks {
		out.Looks = append(out.Looks, bundle.Look{Market: k.Market, SourceID: k.SourceID,
			From: k.From.String(), To: k.To.String(), Command: k.Command})
	}
	return out
}

// trialOf is a trial of the registry; a replay was played on the candles of the judged run.
func trialOf(t *selection.Trial, judged []artifact.Dataset) bundle.Trial {
	data := t.Data
	if len(data) == 0 {
		data = judged
	}
	days := selection.DaysOf(data)
	out := bundle.Trial{Key: t.Key, Copies: t.Copies, RunID: t.RunID, Candles: []string{}, Family: t.Family,
		From: days.From.String(), To: days.To.String()}
	for _, d := range data {
		out.Candles = append(out.Candles, d.SHA256)
	}
	if t.Series != nil {
		out.ReturnsSHA256 = digest.SHA256Hex(t.Series.Encode())
	}
	return out
}

func reportHash(m *artifact.Metadata) string { return fileHash(m, "report.json") }

func fileHash(m *artifact.Metadata, name string) string {
	f, _ := m.File(name)
	return f.SHA256
}

// standing is what the lab knows of a run besides what the contract has fields for.
type standing struct {
	ResultHash            string `json:"result_hash,omitempty"`
	PostPeek              bool   `json:"post_peek"`
	Deviation             bool   `json:"deviation"`
	ValidationContaminate bool   `json:"validation_contaminated"`
	// Of falsifications.
	BaseRunID string `json:"base_run_id,omitempty"`
	Overall   string `json:"overall,omitempty"`
	ProfileID string `json:"profile_id,omitempty"`
	Profile   string `json:"profile_sha256,omitempty"`
}

func standingOf(x *item) standing {
	s := standing{PostPeek: x.meta.PostPeek, Deviation: x.meta.Deviation,
		ValidationContaminate: x.meta.ValidationContaminated}
	if x.meta.ResultHash != nil {
		s.ResultHash = *x.meta.ResultHash
	}
	if f := x.summary; f != nil {
		s.BaseRunID, s.Overall, s.ProfileID, s.Profile = f.BaseRunID, string(f.Overall), f.Profile.ID,
			f.Profile.SHA256
	}
	return s
}

// extensionsOf is the baseline's standing with that of the search that found it, and the
// standing of every run.
func extensionsOf(e *collected, ledger selection.Digest, manifest json.RawMessage) (json.RawMessage, error) {
	out := struct {
		standing
		NEff      *float64            `json:"n_eff,omitempty"`
		TestPeeks int                 `json:"test_peeks"`
		Runs      map[string]standing `json:"runs"`
		// Manifest lists the files and layers of a strategy that is a bundle; its hash is that of the plugin.
		Manifest json.RawMessage `json:"plugin_manifest,omitempty"`
	}{standing: standingOf(e.base), TestPeeks: ledger.TestPeeks, Runs: map[string]standing{},
		Manifest: manifest}
	if n := ledger.NEff; !math.IsNaN(n) && !math.IsInf(n, 0) {
		out.NEff = &n
	}
	for _, x := range e.items {
		out.Runs[x.meta.RunID] = standingOf(x)
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("extensions: %w", err)
	}
	return text, nil
}

// lineage is where a bundle comes from: nowhere, or the revision that was packed last.
func lineage(b *bundle.Bundle, parent *bundle.Document) {
	l := &b.Candidate.Lineage
	if parent == nil {
		l.ParentRevisionID, l.ChangeClass = nil, bundle.ChangeInitial
		return
	}
	id := parent.Bundle.CandidateRevisionID
	l.ParentRevisionID, l.ChangeClass = &id, changeClass(b, &parent.Bundle)
}

// changeClass is what the change comes to as far as the lab knows; the control plane
// computes its own. b is not sealed yet, so that its parameters have no hash.
func changeClass(b, parent *bundle.Bundle) string {
	s, p := &b.Strategy, &parent.Strategy
	if looser(&b.Limits, &parent.Limits) || !sameJSON(s.Params, p.Params) ||
		!slices.Equal(s.Symbols, p.Symbols) ||
		!slices.Equal(s.Timeframes, p.Timeframes) || !slices.Equal(s.Exchanges, p.Exchanges) {
		return bundle.ChangeMaterial
	}
	if s.Plugin.SHA256 == p.Plugin.SHA256 || sameTrades(b, parent) {
		return bundle.ChangeNonMaterial
	}
	return bundle.ChangeMaterial
}

// sameTrades reports whether every trades.csv of the parent's baselines is in a bundle, by
// split and hash.
func sameTrades(b, parent *bundle.Bundle) bool {
	own, before := trades(b), trades(parent)
	for name := range before {
		if !own[name] {
			return false
		}
	}
	return len(before) > 0
}

func trades(b *bundle.Bundle) map[string]bool {
	out := map[string]bool{}
	for _, a := range b.Artifacts {
		at := slices.IndexFunc(b.Runs, func(r bundle.Run) bool { return r.RunID == a.RunID })
		file := strings.TrimPrefix(a.Name, "runs/"+a.RunID+"/")
		if at >= 0 && b.Runs[at].Role == bundle.RoleBaseline && strings.HasSuffix(file, "/trades.csv") {
			out[file+" "+a.SHA256] = true
		}
	}
	return out
}

// The shares of the initial cash that a candidate may use by default, in percent
// (docs/governance.md, "A candidate"), and its other limits.
const (
	orderPercent    = 5
	positionPercent = 25
	dayLossPercent  = 3

	ordersPerMinute = 10
	drawdown        = "0.25"
)

// defaultLimits follow from the initial cash, a JSON number, and the symbols.
func defaultLimits(cash json.RawMessage, symbols []string) (bundle.Limits, error) {
	all, err := decimal.Parse(string(cash))
	if err != nil {
		return bundle.Limits{}, fmt.Errorf("initial cash: %w", err)
	}
	share := func(percent int64) (string, error) {
		rate, err := decimal.New(percent, 2)
		if err != nil {
			return "", err
		}
		part, err := all.Mul(rate)
		return amount(part), err
	}
	l := bundle.Limits{
		MaxCapital: amount(all), MaxOrdersPerMinute: ordersPerMinute, MaxInstruments: int64(len(symbols)),
		MaxVenues: 1, MaxDrawdown: drawdown,
	}
	if len(symbols) > 0 {
		l.QuoteCurrency = market.Symbol(symbols[0]).Quote()
	}
	var errs [3]error
	l.MaxOrderValue, errs[0] = share(orderPercent)
	l.MaxPositionValue, errs[1] = share(positionPercent)
	l.MaxDailyLoss, errs[2] = share(dayLossPercent)
	return l, errors.Join(errs[:]...)
}

// amount writes money as the contract does: no exponent, no needless zeros.
func amount(d decimal.Decimal) string { return d.Trim(0).String() }

// LimitsOver is limits with what a file of --limits names; other members are refused. The
// values are checked when the bundle is sealed.
func LimitsOver(base bundle.Limits, text []byte) (bundle.Limits, error) {
	bad := func(pointer, format string, args ...any) error {
		return request.Errorf(request.CodeUsage, "--limits: "+format, args...).
			With("flag", "--limits", "pointer", pointer)
	}
	canonical, err := digest.CanonicalJSON(text)
	var at *digest.JSONError
	switch {
	case errors.As(err, &at):
		return base, bad(at.Pointer, "%v", err)
	case err != nil:
		return base, bad("", "%v", err)
	case len(canonical) == 0 || canonical[0] != '{':
		return base, bad("", "the file must hold an object such as {\"max_capital\":\"10000\"}")
	}
	d := json.NewDecoder(bytes.NewReader(canonical))
	d.DisallowUnknownFields()
	out := base
	if err := d.Decode(&out); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return base,
				bad("/"+strings.ReplaceAll(wrong.Field, ".", "/"),
					"%s must not be a %s: money is a decimal in quotes, counts are numbers", wrong.Field,
					wrong.Value)
		}
		return base, bad("", "%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return out, nil
}

// looser reports whether limits a allow anything that limits b do not.
func looser(a, b *bundle.Limits) bool {
	above := func(x, y string) bool {
		if y == "" {
			return false
		}
		dx, errX := decimal.Parse(x)
		dy, errY := decimal.Parse(y)
		return errX != nil || errY != nil || dx.Cmp(dy) > 0
	}
	collar := b.PriceCollarBps != nil && (a.PriceCollarBps == nil || *a.PriceCollarBps > *b.PriceCollarBps)
	return collar || above(a.MaxCapital, b.MaxCapital) || above(a.MaxOrderValue, b.MaxOrderValue) ||
		above(a.MaxPositionValue, b.MaxPositionValue) ||
		above(a.MaxDrawdown, b.MaxDrawdown) || above(a.MaxDailyLoss, b.MaxDailyLoss) ||
		a.MaxOrdersPerMinute > b.MaxOrdersPerMinute ||
		a.MaxInstruments > b.MaxInstruments || a.MaxVenues > b.MaxVenues || b.QuoteCurrency != "" &&
		a.QuoteCurrency != b.QuoteCurrency
}
