package request

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/lab/stat/sharpe"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// assess is what the splits show together. Of a run that failed only the splits that
// were finished are kept. half is the run at one and a half times the costs, nil without.
func (h *Host) assess(p *Prepared, results []played, half *played, whole bool) (*artifact.Evaluation, error) {
	e := &artifact.Evaluation{PostPeek: p.postPeek}
	if !whole {
		return e, nil
	}
	base := find(results, split.RoleSearch)
	for i := range results {
		if id := results[i].job.stressID; id != "" {
			e.Stress = append(e.Stress, judgeStress(id, base, &results[i], half))
		}
	}
	if train := find(results, split.RoleTrain); train != nil {
		e.Warnings = append(e.Warnings, purgeShort(train.results.Trades, p.Manifest.Splits)...)
	}
	e.Warnings = append(e.Warnings, trained(p)...)
	if p.Request.Kind == artifact.KindRun {
		e.Warnings = append(e.Warnings, absent(results)...)
	}
	series := stitch(p, results)
	if len(series.Curves) == 0 {
		return e, nil
	}
	var err error
	if e.WalkForward, err = walkForward(series); err != nil {
		return nil, err
	}
	e.Overfitting, err = overfit(series, p.Request.Seed)
	return e, err
}

// find is the played split of an id.
func find(results []played, id string) *played {
	for i := range results {
		if results[i].job.ID == id && results[i].job.stressID == "" {
			return &results[i]
		}
	}
	return nil
}

// stitch is the walk-forward windows as one series: each begins flat with its own cash,
// and no return crosses from one to the next. It has no curves where there is no window.
func stitch(p *Prepared, results []played) metric.Input {
	var windows []metric.Input
	for _, r := range p.Manifest.Splits.Splits {
		if r.Role == split.RoleWalkForward {
			windows = append(windows, find(results, r.ID).input)
		}
	}
	return joined(windows)
}

// Stitched is the plays of walk-forward windows, in their order, as one series: what a
// report has as its walk_forward.
func Stitched(windows []metric.Input) (*artifact.WalkForward, error) {
	return walkForward(joined(windows))
}

func joined(windows []metric.Input) metric.Input {
	in := metric.Input{}
	for i := range windows {
		in.Timeframe, in.Calendar = windows[i].Timeframe, windows[i].Calendar
		in.Curves = append(in.Curves, windows[i].Curves...)
		in.Trades = append(in.Trades, windows[i].Trades...)
		in.Totals.Merge(&windows[i].Totals)
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
	return &artifact.WalkForward{Windows: len(in.Curves), Days: rep.Meta.NReturns, Metrics: rep.Metrics,
		Meta: rep.Meta}, nil
}

// tooSmall reports whether there are too few trades or candles to estimate ratios from.
func tooSmall(in metric.Input) bool {
	n := 0
	for _, c := range in.Curves {
		n += len(c.Equity)
	}
	return len(in.Trades) < artifact.SufficientTrades || n < artifact.SufficientCandles
}

// trained warns of splits whose candles the program was made with.
func trained(p *Prepared) []artifact.ReportWarning {
	list := p.Manifest.Request.Trained(p.Manifest.Splits.Splits)
	if len(list) == 0 {
		return nil
	}
	return []artifact.ReportWarning{{
		Code: "TRAINED_UNTIL", Pointer: "/trained_until",
		Message: fmt.Sprintf("the program was made with data until %s: what these splits show is no "+
			"evidence, as they begin before: %s", *p.Manifest.Request.TrainedUntil, strings.Join(list, ", ")),
	}}
}

// purgeShort warns when trades last longer than the gap between training and test:
// then what is decided in the one still moves the other. The rule is
// that of docs/statistics.md, the 95th percentile of the candles that trades on train were held.
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
		Message: fmt.Sprintf(
			"trades on train last up to %.0f candles (95th percentile), the purge between training and "+
				"test is %d: set max_holding_candles in lab.json", p95, purge),
	}}
}

// The conventions of the overfitting block.
const (
	confidence   = 0.95
	replicas     = 999
	rulePolitisW = "politis_white"
)

// overfit is how far the Sharpe ratio of the stitched walk-forward can be trusted. A
// walk-forward too small to estimate ratios from has no estimates, only its length.
// Formulas: docs/statistics.md, "Formulas" (standard error of Mertens, PSR and MinTRL of 2012
// at a benchmark of 0, block length of Politis and White).
func overfit(in metric.Input, seed uint64) (*artifact.Overfitting, error) {
	returns, err := metric.MainReturns(in)
	if err != nil {
		return nil, err
	}
	o := &artifact.Overfitting{Basis: split.RoleWalkForward, T: len(returns.Return),
		Undefined: map[string]metric.Reason{}}
	e := estimates{o}
	if tooSmall(in) {
		e.none(stat.Insufficient)
		return o, nil
	}
	m, why := stat.Of(returns.Return)
	if why != "" {
		e.none(why)
		return o, nil
	}
	ratio, t, shape := m.Mean/m.SD, float64(m.N), sharpe.ShapeOf(m)
	o.SR, o.Skew, o.KurtRaw = new(metric.Round(ratio)), new(metric.Round(m.Skew)), new(metric.Round(m.Kurt))
	o.PSR0 = e.number("psr0")(sharpe.PSR2012(ratio, 0, t, shape))
	se, why := sharpe.SE(ratio, t, shape)
	o.SRSE = e.number("sr_se")(se, why)
	if o.SRSE == nil {
		o.Undefined["sr_ci95"] = why
	} else {
		z := stat.Z((1 + confidence) / 2)
		o.SRCI95 = &[2]float64{metric.Round(ratio - float64(z*se)), metric.Round(ratio + float64(z*se))}
	}
	o.EtaLag1 = e.number("eta_lag1")(stat.Lag1(returns.Return))
	o.MinTRLDays = e.days(returns, ratio, shape)
	block, why := bootstrap.PolitisWhite(returns.Return)
	if why != "" {
		o.Undefined["bootstrap"] = why
		return o, nil
	}
	o.Bootstrap = &artifact.Bootstrap{B: replicas, MeanBlock: metric.Round(max(block.Stationary, 1)),
		Rule: rulePolitisW, Seed: strconv.FormatUint(seed, 10)}
	return o, nil
}

// estimates fills an Overfitting and notes what is undefined.
type estimates struct{ of *artifact.Overfitting }

func (e estimates) none(why stat.Reason) {
	for _, name := range []string{"sr", "skew", "kurt_raw", "psr0", "sr_se", "sr_ci95", "eta_lag1",
		"min_trl_days", "bootstrap"} {
		e.of.Undefined[name] = why
	}
}

// number takes a statistic as it comes: a number or a reason.
func (e estimates) number(name string) func(float64, stat.Reason) *float64 {
	return func(x float64, why stat.Reason) *float64 {
		if why != "" {
			e.of.Undefined[name] = why
			return nil
		}
		return new(metric.Round(x))
	}
}

func (e estimates) days(returns metric.Returns, ratio float64, shape sharpe.Shape) *int64 {
	n, why := sharpe.MinTRL2012(ratio, 0, shape, confidence)
	var days int64
	if why == "" {
		days, why = returns.Days(n)
	}
	if why != "" {
		e.of.Undefined["min_trl_days"] = why
		return nil
	}
	return &days
}

// stresses are what makes repetitions harder, by id as in lab.json.
var stresses = map[string]Replay{
	"cost_x2":        {CostTenths: 20},
	"cost_x3":        {CostTenths: 30},
	"delay_1":        {DelayCandles: 1},
	"delay_2":        {DelayCandles: 2},
	"intrabar_worst": {WorstPrice: true},
}

// costly is the execution options with costs multiplied, within the bounds that options have;
// base is that of the request.
func (r *Replay) costly(base json.RawMessage) (json.RawMessage, error) {
	if len(r.Execution) > 0 {
		base = r.Execution
	}
	if r.CostTenths == 0 || r.CostTenths == 10 {
		return base, nil
	}
	options := map[string]json.RawMessage{}
	if err := json.Unmarshal(base, &options); err != nil {
		return nil, err
	}
	factor := decimal.MustNew(int64(r.CostTenths), 1)
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
const halfway = 15 // tenths of the costs

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
		if s := stresses[r.job.stressID]; s.CostTenths != 20 ||
			judgeStress(r.job.stressID, base, r, nil).ReasonCode != judge.NetLoss {
			continue
		}
		list, err := h.play(ctx, p, []job{{
			Replay:   Replay{ID: r.job.ID, From: r.job.From, To: r.job.To, CostTenths: halfway},
			stressID: "cost_x1.5",
		}}, nil)
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
	out := artifact.Stress{ID: id, SplitID: split.RoleSearch, Base: stressResult(base.results),
		Stressed: stressResult(stressed.results)}
	replay := judge.Replay{Status: judge.Completed, Sharpe: out.Stressed.SharpeRatio,
		NetPnL: out.Stressed.NetPnL}
	if stressed.failure != nil {
		replay.Status = judge.Failed
	}
	rules := judge.Judge{Base: judgedBase(base), Policy: judge.DefaultPolicy()}
	var test *judge.Test
	switch kind := stresses[id]; {
	case kind.DelayCandles > 0:
		test = rules.Delayed(replay, 1)
	case kind.WorstPrice:
		test = rules.Worst(replay)
	default:
		rules.Policy.CostPass = float64(kind.CostTenths) / 10
		levels := costLevel(nil, rules.Policy.CostPass, stressed)
		if half != nil && kind.CostTenths == 20 {
			levels = costLevel(levels, halfway/10.0, half)
		}
		if test = rules.Costs(levels); kind.CostTenths > 20 && test.ReasonCode == judge.NetLoss {
			test.Verdict = judge.Warn
		}
	}
	out.Verdict, out.ReasonCode = string(test.Verdict), test.ReasonCode
	return out
}

// costLevel adds what is left at a multiple of the costs, unless the plugin failed.
func costLevel(levels []account.Cost, multiple float64, r *played) []account.Cost {
	if r.failure != nil {
		return levels
	}
	net, err := decimal.Parse(stressResult(r.results).NetPnL)
	if err != nil {
		return levels
	}
	return append(levels, account.Cost{Multiplier: multiple, Net: net})
}

// judgedBase is what the rules need to know of the search split.
func judgedBase(p *played) judge.Base {
	r := p.results
	base := judge.Base{Sharpe: stressResult(r).SharpeRatio, Undefined: stat.NotApplicable,
		Trades: len(r.Trades), Fills: len(r.Fills)}
	if r.Metrics != nil {
		base.Undefined, base.T = r.Metrics.Meta.Undefined["sharpe_ratio"], r.Metrics.Meta.NReturns
	}
	base.Cash = 1 // only the words of a verdict divide by the cash, and none are used here
	return base
}

// stressResult is what the report has of a run. Net profit is its final value less the
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
