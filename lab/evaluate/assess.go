package evaluate

import (
	"fmt"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// assess is what the splits say together. Of a run that failed only the splits that
// were finished are kept.
func (h *Host) assess(p *Prepared, results []played, whole bool) (*artifact.Evaluation, error) {
	e := &artifact.Evaluation{PostPeek: p.postPeek}
	if !whole {
		return e, nil
	}
	base := find(results, split.RoleSearch)
	for i := range results {
		if id := results[i].job.stressID; id != "" {
			e.Stress = append(e.Stress, judgeStress(id, base, &results[i]))
		}
	}
	if train := find(results, split.RoleTrain); train != nil {
		e.Warnings = append(e.Warnings, purgeShort(train.results.Trades, p.Manifest.Splits)...)
	}
	series := stitch(p, results)
	if len(series.Curves) == 0 {
		return e, nil
	}
	var err error
	if e.WalkForward, err = walkForward(series); err != nil {
		return nil, err
	}
	e.Overfitting, err = overfit(series, p.Question.Seed)
	return e, err
}

// find is the played split of an id.
func find(results []played, id string) *played {
	for i := range results {
		if results[i].job.id == id && results[i].job.stressID == "" {
			return &results[i]
		}
	}
	return nil
}

// stitch is the walk-forward windows as one series: each begins flat with its own cash,
// and no return crosses from one to the next. It has no curves where there is no window.
func stitch(p *Prepared, results []played) metric.Input {
	in := metric.Input{}
	for _, r := range p.Manifest.Splits.Splits {
		if r.Role != split.RoleWalkForward {
			continue
		}
		window := find(results, r.ID).input
		in.Timeframe, in.Calendar = window.Timeframe, window.Calendar
		in.Curves = append(in.Curves, window.Curves...)
		in.Trades = append(in.Trades, window.Trades...)
		in.Totals.Merge(&window.Totals)
	}
	return in
}

func walkForward(in metric.Input) (*artifact.WalkForward, error) {
	rep, err := metric.Compute(in)
	if err != nil {
		return nil, err
	}
	if tooSmall(in) {
		rep = rep.Insufficient()
	}
	return &artifact.WalkForward{Windows: len(in.Curves), Days: rep.Meta.NReturns, Metrics: rep.Metrics, Meta: rep.Meta}, nil
}

// tooSmall says whether there are too few trades or candles to estimate ratios from.
func tooSmall(in metric.Input) bool {
	n := 0
	for _, c := range in.Curves {
		n += len(c.Equity)
	}
	return len(in.Trades) < artifact.SufficientTrades || n < artifact.SufficientCandles
}

// purgeShort warns when trades last longer than the gap between training and test:
// then what is decided in the one still moves the other. The rule is that of section 3
// of lab-stats/1, the 95th percentile of the candles that trades on train were held.
func purgeShort(trades []market.Trade, splits artifact.Splits) []artifact.ReportWarning {
	purge, has := splits.Params["purge"].(int)
	if !has {
		return nil
	}
	held := make([]float64, len(trades))
	for i := range trades {
		held[i] = float64(trades[i].CandlesHeld)
	}
	p95, why := stat.Quantile(held, 0.95)
	if why != "" || p95 <= float64(purge) {
		return nil
	}
	return []artifact.ReportWarning{{
		Code: "PURGE_SHORT", Pointer: "/splits",
		Message: fmt.Sprintf("trades on train last up to %.0f candles (95th percentile), the purge between training and test is %d: set max_holding_candles in lab.json", p95, purge),
	}}
}
