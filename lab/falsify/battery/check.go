package battery

import (
	"cmp"
	"context"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/evidence"
	"github.com/assay-run/assay/lab/falsify/judge/lines"
	"github.com/assay-run/assay/lab/split"
)

// check is a test in the making: what must be played, and what is then found.
type check struct {
	plays []*play
	judge func(context.Context) (*finding, error)
	// later is how many replays judge makes itself.
	later int64
	// skip is the reason for which the test does not apply, "" if it does.
	skip string
}

// finding is a test with its verdict and the files that it rests on.
type finding struct {
	*judge.Test
	files []evidence.File
	rows  []judge.Replay
	// stressed is the replay that stands for the test in the report, and beside what; nil
	// for the base on the search split.
	stressed, beside *judge.Replay
	// on is the split that was played, search if empty.
	on string
}

// stress is the line of the report; own is the base.
func (f *finding) stress(own judge.Replay) artifact.Stress {
	result := func(r *judge.Replay) artifact.StressResult {
		if r == nil || r.NetPnL == "" {
			r = &own
		}
		return artifact.StressResult{SharpeRatio: r.Sharpe, NetPnL: r.NetPnL}
	}
	return artifact.Stress{
		ID: f.ID, SplitID: cmp.Or(f.on, split.RoleSearch), Base: result(f.beside), Stressed: result(f.stressed), Verdict: string(f.Verdict), ReasonCode: f.ReasonCode,
	}
}

func (f *finding) add(file evidence.File) {
	f.files = append(f.files, file)
	evidence.Attach(f.Test, file)
}

// firstDiff adds where a variant began to differ.
func (f *finding) firstDiff(variant string, want, got []byte) error {
	d, differ := lines.First(want, got)
	if !differ {
		return nil
	}
	file, err := evidence.FirstDiffs(f.ID, []evidence.Difference{{Variant: variant, Diff: d}})
	if err == nil {
		f.add(file)
	}
	return err
}

func (f *finding) replays(list []judge.Replay) {
	f.rows = list
	f.add(evidence.Replays(f.ID, list))
}

// rowOf is a replay as replays.csv has it. One that the strategy has no parameters for
// has not been made, and none of its callers keeps it.
func rowOf(variant string, replica int, r *evaluate.Replayed) judge.Replay {
	row := judge.Replay{Variant: variant, Replica: replica, Status: judge.Completed}
	if r.Failure != nil {
		row.Status = judge.Failed
	}
	if r.Results == nil {
		return row
	}
	row.DecisionHash = r.Results.DecisionHash
	if row.Status == judge.Failed {
		return row
	}
	row.Sharpe, row.TotalReturn, row.MaxDrawdown = get(r, "sharpe_ratio"), get(r, "total_return"), get(r, "max_drawdown")
	row.Trades = len(r.Results.Trades)
	if net, err := netOf(r.Results); err == nil {
		row.NetPnL = net.Trim(0).String()
	}
	return row
}

func get(r *evaluate.Replayed, key string) *float64 {
	if x, defined := r.Metrics.Get(key); defined {
		return &x
	}
	return nil
}

// netOf is the final value less the cash that a run began with.
func netOf(r *artifact.Results) (decimal.Decimal, error) {
	final, err := decimal.Parse(r.FinalValue)
	if err != nil {
		return final, err
	}
	cash, err := decimal.Parse(r.InitialCash)
	if err != nil {
		return cash, err
	}
	return final.Sub(cash)
}

// rows keeps what list[i] has become, in its place.
func rows(n int) []judge.Replay { return make([]judge.Replay, n) }

// note keeps that there is a capsule of a kind; the report names the first one.
func (b *bench) note(kind capsule.Kind, n *capsule.Note) {
	if b.kept[kind] = true; b.capsule == nil {
		b.capsule = n
	}
}
