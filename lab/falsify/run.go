// Package falsify attacks a completed run: lab falsify.
//
// [Open] finds the base, a completed run with a search split. [Run] makes a request of kind
// falsification of it: the base's request, the profile's hash, and the trials in the registry.
// Equal requests have one result, and the base is not touched. Where there is none yet, package
// battery makes the tests, and what it finds becomes a run: falsify/summary.json, the evidence, a
// page, the report and the metadata. [ReadSummary] reads a result back, new or old.
//
// Packages below: tests (the catalogue, a folder per test with its plan and its rule), battery
// (what makes them), judge (what all rules share), profile (counts and thresholds), replay
// (changed candles). page.go is falsify/summary.html.
//
// It imports lab/request, lab/search, and the host's artifact and registry.
package falsify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/profile"
	"github.com/assay-run/assay/lab/falsify/tests"
	"github.com/assay-run/assay/lab/falsify/tests/causal"
	"github.com/assay-run/assay/lab/falsify/tests/paramneighbourhood"
	"github.com/assay-run/assay/lab/falsify/tests/permutedselection"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/family"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat"
)

// Options of one falsification.
type Options struct {
	Profile profile.Profile
	// Force makes the battery again where there is an answer; the result must be the same.
	Force bool
	// Progress is called after each replay with how many are made and planned, and how many
	// plugins have failed, one call at a time.
	Progress func(done, planned int64, failed int)
	// Waiting is called when another process is at the same request.
	Waiting func(owner string)
	// Sources finds those of the base's program, nil where they are not at hand.
	Sources Finder
	// Queue lets replays of a request be made on other machines until end is called; nil makes them here.
	Queue func(ctx context.Context, root *request.Prepared) (q battery.Queue, end func(), err error)
}

// Finder finds the sources that a program with a hash is built from, nil where they are not
// at hand.
type Finder func(ctx context.Context, pluginSHA256 string) (*project.Sources, error)

// Result is a falsification as it is stored now.
type Result struct {
	*request.Result
	Summary *Summary
	// Warnings are those about the list of trials.
	Warnings []artifact.ReportWarning
	// Again is that of [selection.TrialList]. It is no input of the request, so nothing that is stored
	// may have it.
	Again int
}

// depends is what a falsification depends on besides the request of its base.
type depends struct {
	BaseRequestHash string           `json:"base_request_hash"`
	BaseResultHash  string           `json:"base_result_hash"`
	ProfileSHA256   string           `json:"profile_sha256"`
	Ledger          selection.Digest `json:"ledger"`
	// PlanHash is that of the plan of the base, whose steps param_neighbourhood takes.
	PlanHash string `json:"plan_hash,omitempty"`
	// LiteralsSHA256 is of the numbers in the sources that param_neighbourhood changes, where
	// there are no parameters to change.
	LiteralsSHA256 string `json:"literals_sha256,omitempty"`
	// UsesSHA256 is of the places in the sources that determinism changes, as they ask for the
	// clock or the machine's name; empty without one.
	UsesSHA256 string `json:"uses_sha256,omitempty"`
}

// Run attacks a base. The errors are those of request.Host.Run.
func Run(ctx context.Context, h *request.Host, base *Base, o Options) (*Result, error) {
	ledger, err := selection.ReadTrials(ctx, h.Registry, h.Artifacts, base.RunID)
	if err != nil {
		return nil, err
	}
	a, err := prepare(ctx, h, base, ledger, o)
	if err != nil {
		return nil, err
	}
	defer a.original.Close()
	falsification, err := digest.JCS(a.depends)
	if err != nil {
		return nil, err
	}
	if err := a.ask(falsification); err != nil {
		return nil, err
	}
	if !o.Force {
		a.journal = journalOf(h, a.prepared.RunID)
	}
	answer, err := h.Run(ctx, a.prepared, request.Options{Force: o.Force, Waiting: o.Waiting, Make: a.make,
		Plan: a.standing()})
	if err != nil {
		return nil, err
	}
	if err := os.Remove(journalOf(h, answer.RunID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	summary, err := ReadSummary(h.Artifacts.Dir(answer.RunID))
	if err != nil {
		return nil, err
	}
	return &Result{Result: answer, Summary: summary, Warnings: ledger.Warnings, Again: ledger.Again}, nil
}

// prepare makes an attack with all that it depends on. Its original is to be closed.
func prepare(ctx context.Context, h *request.Host, base *Base, ledger *selection.TrialList,
	o Options) (*attack, error) {
	planned, hash, err := planOf(ctx, h, base, o.Profile.Full)
	if err != nil {
		return nil, err
	}
	if o.Profile.Plan = ""; o.Profile.Full {
		o.Profile.Plan = hash
	}
	if err := affordable(planned, &o.Profile); err != nil {
		return nil, err
	}
	text, sum, err := o.Profile.Canonical()
	if err != nil {
		return nil, err
	}
	a := &attack{host: h, base: base, options: o, ledger: ledger, planned: planned, profile: text}
	a.depends = depends{base.Report.RequestHash, base.Report.ResultHash, sum, ledger.Digest(), hash, "", ""}
	if a.original, err = base.ask(ctx, h); err != nil {
		return nil, err
	}
	if err := a.readSources(ctx); err != nil {
		a.original.Close()
		return nil, err
	}
	return a, nil
}

// ask varies the request of the base into that of the falsification.
func (a *attack) ask(falsification json.RawMessage) (err error) {
	a.prepared, err = a.host.WithOverrides(a.original, func(q *request.Request) {
		q.Kind, q.Falsification = artifact.KindFalsification, falsification
	})
	return err
}

// readSources finds what is changed in the sources: the numbers of a strategy that declares none,
// and what asks for the clock or the machine's name. Either makes them part of what is asked.
func (a *attack) readSources(ctx context.Context) error {
	original, seed, chosen := a.original, a.original.Request.Seed, &a.options.Profile
	if a.planned != nil {
		seed = a.planned.Seed
	}
	points, err := paramneighbourhood.Neighbours(original, a.planned, seed)
	literals := len(points) == 0 && chosen.Selects(paramneighbourhood.ID)
	if err != nil || a.options.Sources == nil || !literals && !chosen.Selects(causal.Determinism.ID) {
		return err
	}
	sources, err := a.options.Sources(ctx, original.Manifest.Request.Inputs.PluginSHA256)
	if err != nil || sources == nil {
		return err
	}
	if chosen.Selects(causal.Determinism.ID) {
		if a.uses, err = project.FindUses(sources.Dir); err != nil {
			return err
		}
	}
	if len(a.uses) > 0 {
		a.sources = sources
		if a.depends.UsesSHA256, err = project.DigestUses(a.uses); err != nil {
			return err
		}
	}
	if !literals {
		return nil
	}
	a.sources = sources
	if a.literals, err = project.Around(a.sources.Dir, seed); err != nil {
		return err
	}
	a.depends.LiteralsSHA256, err = project.Digest(a.literals)
	return err
}

// affordable refuses a search that takes too long to be repeated.
func affordable(planned *battery.Plan, p *profile.Profile) error {
	if planned == nil || !p.Full || !p.Selects(permutedselection.ID) {
		return nil
	}
	if n := len(planned.Params) * (p.Selections + 1); n > permutedselection.MostSearched {
		return &request.Error{
			Code:    family.CodePlanTooLarge,
			Details: map[string]any{"flag": "--full", "pointer": "/selections"},
			Message: fmt.Sprintf(
				"permuted_selection would play %d trials on %d shuffled trains and the real one, %d in "+
					"all, and %d is the most: "+
					"leave it out with --skip permuted_selection, or give a profile fewer /selections",
				len(planned.Params), p.Selections, n, permutedselection.MostSearched),
		}
	}
	return nil
}

// journalOf is where a falsification that is interrupted leaves what permuted_selection
// has finished.
func journalOf(h *request.Host, runID string) string {
	return filepath.Join(h.StateDir, "tmp", "falsify", runID+".jsonl")
}

// standing is that of the base in its family: what is found out about it is no cleaner
// than it is, and a profile that its plan does not name is another deviation.
func (a *attack) standing() request.Plan {
	p := standingOf(a.base.Metadata)
	p.Deviation = p.Deviation || a.deviates()
	return p
}

// deviates reports whether the base's plan names another profile.
func (a *attack) deviates() bool {
	return a.planned != nil && !a.options.Profile.Succeeds(a.planned.Profile)
}

// seed is the root of the battery's random numbers: that of the plan, which was fixed
// before anything was known, else that of the base.
func (a *attack) seed() uint64 {
	if a.planned != nil {
		return a.planned.Seed
	}
	return a.prepared.Request.Seed
}

func standingOf(m *artifact.Metadata) request.Plan {
	if m.PlanID == nil {
		return request.Plan{}
	}
	p := request.Plan{ID: *m.PlanID, Index: -1, Deviation: m.Deviation,
		Contaminated: m.ValidationContaminated}
	if m.TrialIndex != nil {
		p.Index = *m.TrialIndex
	}
	return p
}

// attack is a request on its way to an answer.
type attack struct {
	host     *request.Host
	base     *Base
	options  Options
	original *request.Prepared // the request of the base
	prepared *request.Prepared // that of the falsification
	ledger   *selection.TrialList
	planned  *battery.Plan
	depends  depends
	profile  []byte // canonical
	sources  *project.Sources
	literals []project.Variant
	uses     []project.Use
	// journal keeps the finished part of a search that is repeated, "" for none.
	journal string
}

func (a *attack) make(ctx context.Context, run *artifact.Run) error {
	seed := a.seed()
	chosen, err := a.ledger.Select(ctx, selection.NewCandles(a.host.Candles), seed)
	if err != nil {
		return err
	}
	b := battery.Base{
		Host: a.host, Prepared: a.prepared, Search: a.base.search, Train: a.base.train,
		Validation: a.base.validation,
		Selection:  chosen, Plan: a.planned, Sources: a.sources, Literals: a.literals, Uses: a.uses,
		Profile: a.options.Profile, Seed: seed, Progress: a.options.Progress, Journal: a.journal,
	}
	if b.Decided = a.base.decided(a.host.Engine); b.Decided != "" {
		dir := a.host.Artifacts.Dir(a.base.RunID)
		if b.Lines, err = artifact.DecisionLines(dir, split.RoleSearch); err != nil {
			return err
		}
	}
	if a.options.Queue != nil {
		q, end, err := a.options.Queue(ctx, a.prepared)
		if err != nil {
			return err
		}
		defer end()
		b.Queue = q
	}
	found, err := battery.Run(ctx, b, tests.All())
	if err != nil {
		return err
	}
	a.noteTraining(&found.Overall)
	return a.fill(run, found, chosen)
}

// noteTraining lowers the verdict where the search split begins before the end of the data that the
// program was made with.
func (a *attack) noteTraining(o *judge.Overall) {
	end := a.prepared.Manifest.Request.TrainedUntil
	from, to := a.prepared.OpenAt(a.base.search.From), a.prepared.CloseAt(a.base.search.To-1)
	if end == nil || from >= *end {
		return
	}
	o.Train(fmt.Sprintf("the program was made with data until %s, and the search split is from %s to %s: "+
		"what is shown on candles before that end is no evidence", *end, from, to), to <= *end)
}

// planOf is the plan that the base was selected by with its hash, nil for a run of its own
// and for one whose plan is not there any more. Its trials are there where full asks for
// them.
func planOf(ctx context.Context, h *request.Host, base *Base, full bool) (*battery.Plan, string, error) {
	id := base.Metadata.PlanID
	if id == nil {
		return nil, "", nil
	}
	row, err := h.Registry.FindPlan(ctx, base.Metadata.Slug, *id)
	if errors.Is(err, registry.ErrNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	file, err := family.ParsePlan(row.Payload)
	if err != nil {
		return nil, "", err
	}
	seed, err := strconv.ParseUint(file.Plan.Seed, 10, 64)
	if err != nil {
		return nil, "", fmt.Errorf("the seed of plan %s: %w", file.ID, err)
	}
	out := &battery.Plan{
		Space: file.Plan.Space, Metric: file.Plan.Objective.Metric,
		Minimise: file.Plan.Objective.Direction == "min",
		Profile:  file.Plan.FalsifyProfile, Seed: seed,
	}
	if !full {
		return out, row.Hash, nil
	}
	for _, t := range file.Plan.Trials {
		params, err := file.Plan.Params(t.Index)
		if err != nil {
			return nil, "", err
		}
		out.Params = append(out.Params, params)
	}
	return out, row.Hash, nil
}

func (a *attack) fill(run *artifact.Run, found *battery.Outcome, chosen *selection.Result) error {
	run.Manifest.Sandbox = found.Sandbox
	if p := found.Played; p.Results != nil {
		run.Splits = []artifact.Split{{
			ID: split.RoleSearch, Results: p.Results, Failed: p.Failure != nil,
			WarmupInside:        min(p.Short, a.base.search.To-a.base.search.From),
			WarmupOrdersDropped: p.Results.WarmupRejections(),
			Decisions: func(w io.Writer) error {
				_, err := io.Copy(w, bytes.NewReader(p.Lines))
				return err
			},
		}}
	}
	summary := a.summary(found)
	e := run.Evaluation
	e.PostPeek = e.PostPeek || a.base.Metadata.PostPeek
	e.Stress, e.Warnings = found.Stress, append(append(e.Warnings, a.ledger.Warnings...), chosen.Warnings...)
	for _, r := range summary.Reasons {
		if r.Code != judge.SkippedByUser { // which the tests show
			e.Warnings = append(e.Warnings,
				artifact.ReportWarning{Code: strings.ToUpper(r.Code), Message: r.Message,
					Pointer: "/falsification/profile"})
		}
	}
	e.Overfitting = &artifact.Overfitting{Basis: split.RoleWalkForward, Undefined: map[string]stat.Reason{}}
	if a.base.Report.Overfitting != nil {
		own := *a.base.Report.Overfitting
		e.Overfitting = &own
	}
	e.Overfitting.Selection = chosen.Selection
	e.Falsification = summary.shorten()
	if found.Capsule != nil {
		e.FailureCapsule = found.Capsule
	}
	e.Verdict = string(summary.Overall)
	if summary.Overall != judge.Inconclusive {
		n := int64(found.Overall.GatesFailed)
		e.GatesFailed = &n
	}
	text, err := summary.encode()
	if err != nil {
		return err
	}
	html, err := a.page(run, summary, found).Bytes()
	if err != nil {
		return err
	}
	counted, err := a.ledger.Record()
	if err != nil {
		return err
	}
	e.Files = append(e.Files,
		artifact.ExtraFile{Name: summaryName, MediaType: mediaJSON, Content: text},
		artifact.ExtraFile{Name: "falsify/summary.html", MediaType: "text/html", Content: html},
		artifact.ExtraFile{Name: "falsify/profile.json", MediaType: mediaJSON, Content: a.profile},
		artifact.ExtraFile{Name: selection.RecordFile, MediaType: mediaOf(selection.RecordFile),
			Content: counted},
	)
	for _, f := range found.Files {
		e.Files = append(e.Files,
			artifact.ExtraFile{Name: f.Path, MediaType: mediaOf(f.Path), Content: f.Content})
	}
	return nil
}

func (a *attack) page(run *artifact.Run, s *Summary, found *battery.Outcome) *Page {
	p := &Page{RunID: run.ID, Strategy: a.base.Metadata.Slug,
		Params: string(a.prepared.Manifest.Request.StrategyParams), Summary: s, Replays: found.Rows,
		Inside: true}
	if r := found.Played; r.Results != nil && r.Failure == nil {
		p.Time, p.Equity = r.Results.Equity.Time, r.Results.Equity.Equity
		if x, defined := r.Metrics.Get("sharpe_ratio"); defined {
			p.Sharpe = &x
		}
	}
	return p
}

func (a *attack) summary(found *battery.Outcome) *Summary {
	s := &Summary{
		Schema: summarySchema, BaseRunID: a.base.RunID, BaseRequestHash: a.depends.BaseRequestHash,
		Profile: ProfileRef{ID: a.options.Profile.ID, SHA256: a.depends.ProfileSHA256},
		Seed:    strconv.FormatUint(a.seed(), 10),
		Tests:   found.Tests, Overall: found.Overall.Verdict, Refuted: found.Overall.Refuted,
		Limit:   judge.Limit,
		Reasons: found.Overall.Reasons, Ledger: a.depends.Ledger,
	}
	if a.deviates() {
		s.Profile.Planned = a.planned.Profile
		s.Reasons = append(s.Reasons, judge.Reason{
			Code: judge.ProfileDeviation,
			Message: fmt.Sprintf("the plan of the run names the profile %s, and it was attacked with %s",
				a.planned.Profile, s.Profile.ID),
		})
	}
	return s
}

const mediaJSON = "application/json"

func mediaOf(path string) string {
	if filepath.Ext(path) == ".csv" {
		return "text/csv"
	}
	return "application/jsonl"
}

// ReadSummary reads falsify/summary.json in the folder of a run.
func ReadSummary(dir string) (*Summary, error) {
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(summaryName)))
	if err != nil {
		return nil, err
	}
	s := &Summary{}
	return s, json.Unmarshal(text, s)
}
