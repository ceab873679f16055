package family

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/selection"
	"github.com/assay-run/assay/lab/selection/series"
	"github.com/assay-run/assay/lab/selection/surface"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The names of what a family puts out beside plan.json and progress.jsonl.
const (
	TrialsFile  = "trials.csv"
	ReturnsFile = "returns.csv"
	ResultFile  = "family_result.json"
)

// Conclude reads what the trials have left, judges it, and writes trials.csv, returns.csv
// and family_result.json, each of them whole or not at all.
func (s *Search) Conclude(ctx context.Context, in *Searched) (*Outcome, error) {
	of, err := s.returns(ctx, in.Trials)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Searched: in, Result: &Result{
		Schema: ResultSchema, PlanHash: s.Hash, Status: StatusCompleted, StepM: StepM{Rejected: []int{}}, Importance: []surface.Importance{},
		Counts: counts(in.Trials), Undefined: map[string]stat.Reason{},
	}}
	s.rank(in.Trials)
	if in.Aborted != "" {
		out.Result.Status = StatusAborted
		out.none(ReasonAborted, "walk_forward_optimised")
	} else if err := s.judge(ctx, out, of); err != nil {
		return nil, err
	}
	if err := out.Result.seal(); err != nil {
		return nil, err
	}
	return out, s.write(out, of)
}

// none says why nothing could be judged.
func (o *Outcome) none(why stat.Reason, besides ...string) {
	for _, name := range append(besides, "selected", "selection", "stepm", "plateau.selected", "plateau.best") {
		o.Result.Undefined[name] = why
	}
}

// judge selects a trial and says what the search has done to its numbers.
func (s *Search) judge(ctx context.Context, out *Outcome, of map[int]*series.Series) (err error) {
	r, trials := out.Result, out.Trials
	if r.Optimised, err = s.optimise(ctx, trials); err != nil {
		return err
	}
	list := finalists(trials)
	points, err := s.points(list)
	if err != nil {
		return err
	}
	r.Importance = surface.ImportanceOf(s.names(), points)
	for i, score := range surface.Plateau(points) {
		list[i].Plateau = score
		if s.order(score, r.Plateau.Best) < 0 {
			r.Plateau.Best = score
		}
	}
	best, err := s.choose(list, of)
	if err != nil {
		return err
	}
	if best == nil {
		out.none(ReasonNoTrial)
		return nil
	}
	r.Selected = &Selected{TrialIndex: best.Index, RunID: best.RunID, Params: best.Params, Rule: s.Plan.SelectionRule}
	r.Plateau.Selected = best.Plateau
	out.Equity = levels(of[best.Index])
	return s.selection(ctx, out, best)
}

// selection judges the selected trial against everything that was tried in its family.
func (s *Search) selection(ctx context.Context, out *Outcome, best *Trial) error {
	ledger, err := selection.Read(ctx, s.whole.Registry, s.whole.Artifacts, best.RunID)
	if err != nil {
		return err
	}
	found, err := ledger.Select(ctx, series.NewCandles(s.whole.Candles), s.root.Question.Seed)
	if err != nil {
		return err
	}
	out.Result.Selection, out.Verdict = &found.Selection, &found.Verdict
	out.Series, out.Days, out.SmallestP, out.Again = found.Series, found.T, found.SmallestP, found.Again
	out.Warnings = append(ledger.Warnings, found.Warnings...)
	if found.StepM.Why != "" {
		out.Result.Undefined["stepm"] = found.StepM.Why
	}
	for _, t := range out.Trials {
		if slices.Contains(found.StepM.Rejected, ledger.StandsFor(t.Key)) {
			out.Result.StepM.Rejected = append(out.Result.StepM.Rejected, t.Index)
		}
	}
	return nil
}

// levels are the returns of a series as what one unit has become.
func levels(x *series.Series) []Level {
	if x == nil {
		return nil
	}
	out := make([]Level, len(x.Return))
	value := 1.0
	for i, r := range x.Return {
		value *= 1 + r
		out[i] = Level{x.Date[i].String()[:len("2006-01-02")], value}
	}
	return out
}

// returns reads the stitched daily returns of each trial that has any, by index. Trials
// on the same days share the days, so that a trial takes 8 bytes a day.
func (s *Search) returns(ctx context.Context, trials []*Trial) (map[int]*series.Series, error) {
	tf, err := market.ParseTimeframe(s.root.Question.Timeframe)
	if err != nil {
		return nil, err
	}
	of := map[int]*series.Series{}
	var last *series.Series
	for _, t := range trials {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if t.Status == Failed || len(t.Windows) == 0 {
			continue
		}
		var curves []series.Curve
		for _, w := range t.Windows {
			text, err := os.ReadFile(filepath.Join(s.host.Artifacts.Dir(t.RunID), "splits", w.SplitID, "equity_curve.csv"))
			if err != nil {
				return nil, err
			}
			c, err := series.Read(text)
			if err != nil {
				return nil, err
			}
			curves = append(curves, c)
		}
		// The calendar decides how returns are annualised, not what they are.
		x, why, err := series.Of(tf, metric.Calendar24x7, curves)
		if err != nil {
			return nil, err
		}
		if why != "" {
			continue
		}
		if last != nil && slices.Equal(last.Date, x.Date) && slices.Equal(last.From, x.From) && slices.Equal(last.To, x.To) {
			x.Date, x.From, x.To = last.Date, last.From, last.To
		}
		last, of[t.Index] = x, x
	}
	return of, nil
}

func (s *Search) write(out *Outcome, of map[int]*series.Series) error {
	err := s.Put(TrialsFile, func(w io.Writer) error { return s.writeTrials(w, out.Trials) })
	if err == nil {
		err = s.Put(ReturnsFile, func(w io.Writer) error { return writeReturns(w, out.Trials, of) })
	}
	if err != nil {
		return err
	}
	// It is the last one: whoever finds it finds the others as well.
	return s.Put(ResultFile, func(w io.Writer) error {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(out.Result); err != nil {
			return err
		}
		_, err := w.Write(b.Bytes())
		return err
	})
}

// Put writes a file of the plan's folder, whole or not at all.
func (s *Search) Put(name string, content func(io.Writer) error) error {
	return file.WriteFrom(filepath.Join(s.Dir, name), 0o600, content)
}

// ReadResult reads the family_result.json of a plan's folder. The error is
// fs.ErrNotExist when the family has not come to its end, and an *evaluate.Error,
// ARTIFACT_MISMATCH, when the file is not what was written.
func ReadResult(dir string) (*Result, error) {
	text, err := os.ReadFile(filepath.Join(dir, ResultFile))
	if err != nil {
		return nil, err
	}
	r := &Result{}
	var rest map[string]json.RawMessage
	err = errors.Join(json.Unmarshal(text, r), json.Unmarshal(text, &rest))
	delete(rest, "result_hash")
	hash := ""
	if err == nil {
		hash, err = digest.Of(rest)
	}
	if err != nil || hash != r.ResultHash {
		return nil, &evaluate.Error{
			Code: "ARTIFACT_MISMATCH", Message: ResultFile + " is not what was written: lab family run writes it again", Cause: err,
			Details: map[string]any{"file": ResultFile, "result_hash": r.ResultHash, "found": hash},
		}
	}
	return r, nil
}
