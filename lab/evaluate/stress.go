package evaluate

import (
	"encoding/json"
	"fmt"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/result"
	"github.com/assay-run/assay/lab/split"
)

// stress is what makes a repetition harder than the base.
type stress struct {
	costs int64 // tenths of the fees and slippage; 0: as they are
	delay int   // candles until an order is eligible
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

// Thresholds of the verdicts: shares of the base's Sharpe ratio that must be left
// after a delay. They are policy.
const (
	delayPass = 0.5
	delayWarn = 0.25
)

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

// judgeStress compares a repetition with the base. The verdicts are those of the
// tests cost_stress, delay_stress and intrabar_worst.
func judgeStress(id string, base, stressed *played) artifact.Stress {
	out := artifact.Stress{ID: id, SplitID: split.RoleSearch, Base: stressResult(base.results), Stressed: stressResult(stressed.results)}
	switch kind := stresses[id]; {
	case stressed.failure != nil:
		out.Verdict, out.ReasonCode = "fail", "plugin_failed"
	case kind.delay > 0:
		out.Verdict, out.ReasonCode = judgeDelay(len(base.results.Trades), out.Base.SharpeRatio, out.Stressed.SharpeRatio)
	default:
		out.Verdict = "fail"
		if net, err := decimal.Parse(out.Stressed.NetPnL); err == nil && net.IsPos() {
			out.Verdict = "pass"
		} else {
			out.ReasonCode = "net_loss"
		}
	}
	return out
}

// judgeDelay compares Sharpe ratios, which needs enough trades to mean something.
func judgeDelay(trades int, base, delayed *float64) (verdict, reason string) {
	if trades < artifact.SufficientTrades || base == nil || delayed == nil {
		return "inconclusive", "insufficient"
	}
	switch {
	case *delayed > 0 && *delayed >= delayPass**base:
		return "pass", ""
	case *delayed > 0 && *delayed >= delayWarn**base:
		return "warn", "sharpe_falls"
	}
	return "fail", "sharpe_falls"
}

// stressResult is the two numbers of a run. Net profit is its final value less the
// cash it began with.
func stressResult(r *result.Results) artifact.StressResult {
	out := artifact.StressResult{NetPnL: "0"}
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
