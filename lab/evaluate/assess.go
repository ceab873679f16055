package evaluate

import (
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/split"
)

// assess is what the splits say together. Of a run that failed only the splits that
// were finished are kept.
func (h *Host) assess(p *Prepared, results []played, whole bool) (*artifact.Evaluation, error) {
	e := &artifact.Evaluation{}
	if !whole {
		return e, nil
	}
	base := find(results, split.RoleSearch)
	for i := range results {
		if id := results[i].job.stressID; id != "" {
			e.Stress = append(e.Stress, judgeStress(id, base, &results[i]))
		}
	}
	var err error
	e.WalkForward, err = stitch(p, results)
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

// stitch is the metrics of the walk-forward windows as one series: each window begins
// flat with its own cash, and no return crosses from one to the next.
func stitch(p *Prepared, results []played) (*artifact.WalkForward, error) {
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
	if len(in.Curves) == 0 {
		return nil, nil
	}
	rep, err := metric.Compute(in)
	if err != nil {
		return nil, err
	}
	if len(in.Trades) < minTrades || steps(in) < minSteps {
		rep = rep.Insufficient()
	}
	return &artifact.WalkForward{Windows: len(in.Curves), Days: rep.Meta.NReturns, Metrics: rep.Metrics, Meta: rep.Meta}, nil
}

// minSteps is the fewest candles that ratios are estimated from.
const minSteps = 250

func steps(in metric.Input) int {
	n := 0
	for _, c := range in.Curves {
		n += len(c.Equity)
	}
	return n
}
