package evaluate

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/null"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat"
)

// stress is what makes a repetition harder than the base.
type stress struct {
	costs int64 // tenths of the fees and slippage; 0: as they are
	delay int   // candles until what is decided takes effect
	worst bool  // market fills at the worse of open and close
}

// stresses by id, as in lab.json.
var stresses = map[string]stress{
	"cost_x2":        {costs: 20},
	"cost_x3":        {costs: 30},
	"delay_1":        {delay: 1},
	"delay_2":        {delay: 2},
	"intrabar_worst": {worst: true},
}

// execution is the execution options with costs multiplied, within the bounds that
// options have.
func (s stress) execution(base json.RawMessage) (json.RawMessage, error) {
	if s.costs == 0 || s.costs == 10 {
		return base, nil
	}
	options := map[string]json.RawMessage{}
	if err := json.Unmarshal(base, &options); err != nil {
		return nil, err
	}
	factor := decimal.MustNew(s.costs, 1)
	for _, key := range []string{"fee_maker", "fee_taker", "slippage_bps"} {
		value, err := decimal.Parse(string(options[key]))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if value.IsNeg() {
			continue // a rebate is no cost
		}
		if value, err = value.Mul(factor); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		options[key] = json.RawMessage(value.Trim(0).String())
	}
	return json.Marshal(options)
}

// halfway is played when a profit does not survive doubled costs: one that survives half as
// much again is a warning.
var halfway = stress{costs: 15}

// halfwayOf plays the search split at one and a half times the costs if cost_x2 leaves no
// profit and nothing has failed; else it is nil.
func (h *Host) halfwayOf(ctx context.Context, p *Prepared, results []played) (*played, error) {
	for i := range results {
		if results[i].failure != nil {
			return nil, nil
		}
	}
	base := find(results, split.RoleSearch)
	for i := range results {
		r := &results[i]
		if s := stresses[r.job.stressID]; s.costs != 20 || judgeStress(r.job.stressID, base, r, nil).ReasonCode != judge.NetLoss {
			continue
		}
		list, err := h.play(ctx, p, []job{{id: r.job.id, from: r.job.from, to: r.job.to, stress: halfway, stressID: "cost_x1.5"}}, nil)
		if err != nil {
			return nil, err
		}
		return &list[0], nil
	}
	return nil, nil
}

// judgeStress compares a repetition with the base by the rules of the tests cost_stress,
// delay_stress and intrabar_worst. half is the run at one and a half times the costs, nil
// where none was made. What is left at three times is for information, as in cost_stress:
// a loss there is a warning at most.
func judgeStress(id string, base, stressed, half *played) artifact.Stress {
	out := artifact.Stress{ID: id, SplitID: split.RoleSearch, Base: stressResult(base.results), Stressed: stressResult(stressed.results)}
	replay := judge.Replay{Status: judge.Completed, Sharpe: out.Stressed.SharpeRatio, NetPnL: out.Stressed.NetPnL}
	if stressed.failure != nil {
		replay.Status = judge.Failed
	}
	rules := judge.Judge{Base: judgedBase(base), Policy: judge.DefaultPolicy()}
	var test *judge.Test
	switch kind := stresses[id]; {
	case kind.delay > 0:
		test = rules.Delayed(replay, 1)
	case kind.worst:
		test = rules.Worst(replay)
	default:
		rules.Policy.CostPass = float64(kind.costs) / 10
		levels := costLevel(nil, rules.Policy.CostPass, stressed)
		if half != nil && kind.costs == 20 {
			levels = costLevel(levels, float64(halfway.costs)/10, half)
		}
		if test = rules.Costs(levels); kind.costs > 20 && test.ReasonCode == judge.NetLoss {
			test.Verdict = judge.Warn
		}
	}
	out.Verdict, out.ReasonCode = string(test.Verdict), test.ReasonCode
	return out
}

// costLevel adds what is left at a multiple of the costs, unless the plugin failed.
func costLevel(levels []null.Cost, multiple float64, r *played) []null.Cost {
	if r.failure != nil {
		return levels
	}
	net, err := decimal.Parse(stressResult(r.results).NetPnL)
	if err != nil {
		return levels
	}
	return append(levels, null.Cost{Multiplier: multiple, Net: net})
}

// judgedBase is what the rules need to know of the search split.
func judgedBase(p *played) judge.Base {
	r := p.results
	base := judge.Base{Sharpe: stressResult(r).SharpeRatio, Undefined: stat.NotApplicable, Trades: len(r.Trades), Fills: len(r.Fills)}
	if r.Metrics != nil {
		base.Undefined, base.T = r.Metrics.Meta.Undefined["sharpe_ratio"], r.Metrics.Meta.NReturns
	}
	base.Cash = 1 // only the words of a verdict divide by the cash, and none are used here
	return base
}

// stressResult is what the report says of a run. Net profit is its final value less the
// cash it began with.
func stressResult(r *artifact.Results) artifact.StressResult {
	out := artifact.StressResult{NetPnL: "0", LateMessages: r.LateMessages}
	if r.Metrics != nil {
		if sharpe, defined := r.Metrics.Metrics.Get("sharpe_ratio"); defined {
			out.SharpeRatio = &sharpe
		}
	}
	value, err := decimal.Parse(r.FinalValue)
	if err != nil {
		return out
	}
	cash, err := decimal.Parse(r.InitialCash)
	if err != nil {
		return out
	}
	if net, err := value.Sub(cash); err == nil {
		out.NetPnL = net.Trim(0).String()
	}
	return out
}
