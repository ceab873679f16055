package family

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/selection"
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
// and family_result.json, each of them whole or not at all. Trials that were played in sessions are
// confirmed first; where one cannot be, all are played again, each play in a process of its own.
func (s *Search) Conclude(ctx context.Context, in *Searched) (*Outcome, error) {
	out, of, err := s.judge(ctx, in)
	if err != nil {
		return nil, err
	}
	leaked, err := s.findLeak(ctx, out)
	if err != nil {
		return nil, err
	}
	if leaked != nil {
		if out, of, err = s.playApart(ctx, in); err != nil {
			return nil, err
		}
		// What cannot be repeated in a process of its own either is no state of another play.
		if x := out.Result.Optimised; x == nil || x.Undefined["metrics"] != ReasonNondeterministic {
			out.Warnings = append(out.Warnings, leakWarning(leaked, s.root.Strategy.Program().Bundle))
		}
	}
	if err := s.kept.Finish(); err != nil {
		return nil, err
	}
	if err := s.restoreSelected(ctx, out); err != nil {
		return nil, err
	}
	return out, s.writeFiles(out, of)
}

// judge is the outcome as the stored trials have it.
func (s *Search) judge(ctx context.Context, in *Searched) (*Outcome, map[int]*selection.Series, error) {
	of, err := s.readReturns(ctx, in.Trials)
	if err != nil {
		return nil, nil, err
	}
	out := &Outcome{Searched: in, Result: &Result{
		Schema: ResultSchema, PlanHash: s.Hash, Status: StatusCompleted, StepM: StepM{Rejected: []int{}},
		Importance: []selection.Importance{},
		Counts:     counts(in.Trials), Undefined: map[string]stat.Reason{},
	}}
	s.rankTrials(in.Trials)
	if in.Aborted != "" {
		out.Result.Status = StatusAborted
		out.none(ReasonAborted, "walk_forward_optimised")
	} else if err := s.judgeTrials(ctx, out, of); err != nil {
		return nil, nil, err
	}
	return out, of, out.Result.seal()
}

// none notes why nothing could be judged.
func (o *Outcome) none(why stat.Reason, besides ...string) {
	for _, name := range append(besides, "selected", "selection", "stepm", "plateau.selected",
		"plateau.best") {
		o.Result.Undefined[name] = why
	}
}

// judgeTrials selects a trial and judges what the search has done to its numbers.
func (s *Search) judgeTrials(ctx context.Context, out *Outcome, of map[int]*selection.Series) (err error) {
	r, trials := out.Result, out.Trials
	if r.Optimised, err = s.optimiseWindows(ctx, trials); err != nil {
		return err
	}
	list := finalists(trials)
	points, err := s.locatePoints(list)
	if err != nil {
		return err
	}
	r.Importance = selection.ImportanceOf(s.listNames(), points)
	for i, score := range selection.Plateau(points) {
		list[i].Plateau = score
		if s.compareObjectives(score, r.Plateau.Best) < 0 {
			r.Plateau.Best = score
		}
	}
	best, err := s.chooseTrial(list, of)
	if err != nil {
		return err
	}
	if best == nil {
		out.none(ReasonNoTrial)
		return nil
	}
	r.Selected = &Selected{TrialIndex: best.Index, RunID: best.RunID, Params: best.Params,
		Rule: s.Plan.SelectionRule}
	r.Plateau.Selected = best.Plateau
	out.Equity = levels(of[best.Index])
	return s.judgeSelection(ctx, out, best)
}

// judgeSelection judges the selected trial against everything that was tried in its family.
func (s *Search) judgeSelection(ctx context.Context, out *Outcome, best *Trial) error {
	ledger, err := selection.ReadTrials(ctx, s.whole.Registry, s.whole.Artifacts, best.RunID)
	if err != nil {
		return err
	}
	found, err := ledger.Select(ctx, selection.NewCandles(s.whole.Candles), s.root.Request.Seed)
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
func levels(x *selection.Series) []Level {
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

// readReturns reads the stitched daily returns of each trial that has any, by index. Trials
// on the same days share the days, so that a trial takes 8 bytes a day.
func (s *Search) readReturns(ctx context.Context, trials []*Trial) (map[int]*selection.Series, error) {
	tf, err := market.ParseTimeframe(s.root.Request.Timeframe)
	if err != nil {
		return nil, err
	}
	of := map[int]*selection.Series{}
	var last *selection.Series
	for _, t := range trials {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if t.Status == Failed || len(t.Windows) == 0 {
			continue
		}
		x, err := s.readSeries(tf, t)
		if err != nil {
			return nil, err
		}
		if x == nil {
			continue
		}
		if last != nil && slices.Equal(last.Date, x.Date) && slices.Equal(last.From, x.From) &&
			slices.Equal(last.To, x.To) {
			x.Date, x.From, x.To = last.Date, last.From, last.To
		}
		last, of[t.Index] = x, x
	}
	return of, nil
}

// readSeries reads the stitched daily returns of a trial, nil where it has none.
func (s *Search) readSeries(tf market.Timeframe, t *Trial) (*selection.Series, error) {
	if !s.host.Artifacts.Has(t.RunID) {
		k, err := s.kept.Find(t.RunID)
		if k == nil || err != nil {
			return nil, err
		}
		return k.Daily, nil
	}
	var curves []selection.Curve
	for _, w := range t.Windows {
		text, err := os.ReadFile(filepath.Join(s.host.Artifacts.Dir(t.RunID), "splits", w.SplitID,
			"equity_curve.csv"))
		if err != nil {
			return nil, err
		}
		c, err := selection.ReadCurve(text)
		if err != nil {
			return nil, err
		}
		curves = append(curves, c)
	}
	// The calendar decides how returns are annualised, not what they are.
	x, _, err := selection.SeriesOf(tf, metric.Calendar24x7, curves)
	return x, err
}

func (s *Search) writeFiles(out *Outcome, of map[int]*selection.Series) error {
	if err := s.Put(TrialsFile, func(w io.Writer) error { return s.writeTrials(w, out.Trials) }); err != nil {
		return err
	}
	if len(out.Trials) <= mostReturns || !s.skipsFolders(out.options) {
		if err := s.Put(ReturnsFile, func(w io.Writer) error {
			return writeReturns(w, out.Trials, of)
		}); err != nil {
			return err
		}
	}
	// It is the last one: whoever finds it finds the others as well.
	return s.Put(ResultFile, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(out.Result)
	})
}

// Put writes a file of the plan's folder, whole or not at all.
func (s *Search) Put(name string, content func(io.Writer) error) error {
	return file.WriteFrom(filepath.Join(s.Dir, name), 0o600, content)
}

// ReadResult reads the family_result.json of a plan's folder. The error is
// fs.ErrNotExist when the family has not come to its end, and an *request.Error,
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
		return nil, &request.Error{
			Code:    request.CodeArtifactMismatch,
			Message: ResultFile + " is not what was written: lab family run writes it again", Cause: err,
			Details: map[string]any{"file": ResultFile, "result_hash": r.ResultHash, "found": hash},
		}
	}
	return r, nil
}

func metricColumns() []string {
	return []string{"sharpe_ratio", "total_return", "max_drawdown", "total_trades", "win_rate"}
}

// writeTrials writes trials.csv: a row per trial that counts, by index.
func (s *Search) writeTrials(w io.Writer, trials []*Trial) error {
	b := csv.NewWriter(w)
	header := []string{"trial_index", "run_id", "status", "rank", "objective", "windows_done"}
	names := s.listNames()
	for _, name := range names {
		header = append(header, "param:"+name)
	}
	header = append(append(header, metricColumns()...), "plateau_score", "failure_code")
	_ = b.Write(header) // Error returns what failed
	for _, t := range trials {
		var params map[string]json.RawMessage
		if err := json.Unmarshal(t.Params, &params); err != nil {
			return err
		}
		rank := ""
		if t.Rank > 0 {
			rank = strconv.Itoa(t.Rank)
		}
		row := []string{strconv.Itoa(t.Index), t.RunID, t.Status, rank, cell(t.Objective),
			strconv.Itoa(len(t.Windows))}
		for _, name := range names {
			row = append(row, plain(params[name]))
		}
		for _, key := range metricColumns() {
			row = append(row, cell(value(t.Metrics, key)))
		}
		_ = b.Write(append(row, cell(t.Plateau), t.FailureCode))
	}
	b.Flush()
	return b.Error()
}

func (s *Search) listNames() []string {
	var list []string
	for _, p := range s.Plan.Space.Parameters() {
		list = append(list, p.Name)
	}
	return list
}

// plain is a JSON value as a field: a text without its quotes.
func plain(text json.RawMessage) string {
	var s string
	if json.Unmarshal(text, &s) == nil {
		return s
	}
	return string(text)
}

// cell is a number with as many digits as it has, empty if it is undefined: numbers of
// reports are rounded to 12 digits already.
func cell(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x+0, 'f', -1, 64)
}

// writeReturns writes returns.csv: a row per day that any trial has a return on, a column
// per trial that counts; empty where a trial has none.
func writeReturns(w io.Writer, trials []*Trial, of map[int]*selection.Series) error {
	header := []string{"date"}
	var list []*selection.Series
	for _, t := range trials {
		header = append(header, "t"+strconv.Itoa(t.Index))
		if x := of[t.Index]; x != nil {
			list = append(list, x)
		}
	}
	b := bufio.NewWriterSize(w, 64<<10)
	_, _ = b.WriteString(strings.Join(header, ",") + "\n") // Flush returns what failed
	days, columns := selection.Columns(list)
	var number []byte
	for row, day := range days {
		_, _ = b.WriteString(day.String()[:len("2006-01-02")])
		left := columns
		for _, t := range trials {
			_ = b.WriteByte(',')
			if of[t.Index] == nil {
				continue
			}
			c := &left[0]
			if left = left[1:]; len(c.Rows) == 0 || c.Rows[0] != row {
				continue
			}
			number = strconv.AppendFloat(number[:0], metric.Round(c.Returns[0]), 'f', -1, 64)
			_, _ = b.Write(number)
			c.Rows, c.Returns = c.Rows[1:], c.Returns[1:]
		}
		_ = b.WriteByte('\n')
	}
	return b.Flush()
}
