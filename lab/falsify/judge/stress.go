package judge

import (
	"fmt"
	"strconv"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/stat"
)

// The entries of the tests of this file, which lab run judges by, too.
var (
	CostStress = Entry{
		Number: 6, ID: "cost_stress", Version: 1, Class: Gate,
		Claim:  "it earns money at higher costs",
		Method: "fees and slippage times 1, 1.5, 2 and 3; the costs at which the profit is gone",
	}
	DelayStress = Entry{
		Number: 7, ID: "delay_stress", Version: 1, Class: Gate,
		Claim:  "it earns about as much when orders come late",
		Method: "orders 1 and 2 candles late",
	}
	IntrabarWorst = Entry{
		Number: 8, ID: "intrabar_worst", Version: 1, Class: Warning,
		Claim:  "its profit does not rest on lucky fills",
		Method: "market orders filled at the worse of open and close",
	}
)

// Costs judges whether a profit is left at higher costs. A level whose run failed is
// missing from the list, and then there is none left at it.
func (j *Judge) Costs(levels []account.Cost) *Test {
	p := j.Policy
	t := j.Begin(CostStress, len(levels), map[string]any{"cost_pass": p.CostPass, "cost_warn": p.CostWarn})
	at := func(multiple float64) (*account.Cost, bool) {
		for i := range levels {
			if levels[i].Multiplier == multiple {
				return &levels[i], levels[i].Net.IsPos()
			}
		}
		return nil, false
	}
	if base, _ := at(1); base != nil {
		t.Params["break_even_bps"] = Rounded(base.BreakEvenBps)
	}
	level, survives := at(p.CostPass)
	if level == nil {
		t.Measure("net_return", nil, "", ">", Ptr(0))
		if j.Idle(t) {
			return t
		}
		return t.End(Fail, PluginFailed, "the program failed at "+times(p.CostPass))
	}
	net := j.netReturn(level.Net)
	t.Measure("net_return", &net, "", ">", Ptr(0))
	if j.Idle(t) {
		return t
	}
	detail := "at " + times(p.CostPass) + " the net result is " + Percent(net)
	if survives {
		return t.End(Pass, "", "")
	}
	if _, half := at(p.CostWarn); half {
		return t.End(Warn, NetLoss, detail)
	}
	return t.End(Fail, NetLoss, detail)
}

// times is a multiple of the costs in words.
func times(multiple float64) string {
	if multiple == 2 {
		return "doubled costs"
	}
	return strconv.FormatFloat(multiple, 'f', -1, 64) + " times the costs"
}

// Delayed judges delay_stress by the replay one candle late; what two do is evidence.
func (j *Judge) Delayed(one Replay, replays int) *Test {
	p := j.Policy
	t := j.Begin(DelayStress, replays, map[string]any{"delay_pass": p.DelayPass, "delay_warn": p.DelayWarn})
	if one.Status == Broken {
		return t.End(Error, HostError, "the replay could not be made")
	}
	if j.TooLittle(t) {
		t.Measure("sharpe_ratio", one.Sharpe, stat.Insufficient, ">=", nil)
		return t
	}
	base := *j.Base.Sharpe
	if one.Status == Failed {
		t.Measure("sharpe_ratio", nil, "", ">=", Ptr(p.DelayPass*base))
		return t.End(Fail, PluginFailed, "the program failed one candle late")
	}
	late := Ratios([]Replay{one})[0]
	t.Measure("sharpe_ratio", &late, "", ">=", Ptr(p.DelayPass*base))
	detail := fmt.Sprintf("one candle late the Sharpe ratio is %s, in time %s", TwoDigits(late),
		TwoDigits(base))
	switch {
	case late > 0 && late >= p.DelayPass*base:
		t.End(Pass, "", "")
	case late > 0 && late >= p.DelayWarn*base:
		t.End(Warn, SharpeFalls, detail)
	default:
		t.End(Fail, SharpeFalls, detail)
	}
	return j.Capped(t)
}

// Worst judges intrabar_worst: whether market fills at the worse of open and close leave
// a profit.
func (j *Judge) Worst(r Replay) *Test {
	t := j.Begin(IntrabarWorst, 1, nil)
	money, err := decimal.Parse(r.NetPnL)
	if r.Status == Broken || r.Status == Completed && err != nil {
		return t.End(Error, HostError, "the replay could not be made")
	}
	if r.Status == Failed {
		t.Measure("net_return", nil, "", ">", Ptr(0))
		return t.End(Fail, PluginFailed, "the program failed")
	}
	net := j.netReturn(money)
	t.Measure("net_return", &net, "", ">", Ptr(0))
	switch {
	case j.Idle(t):
		return t
	case money.IsPos():
		return t.End(Pass, "", "")
	}
	return t.End(Fail, NetLoss, "at the worse of open and close the net result is "+Percent(net))
}

func (j *Judge) netReturn(money decimal.Decimal) float64 {
	net, _ := money.Float64() // every decimal has a nearest one
	return net / j.Base.Cash
}
