package judge

import (
	"strconv"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/lab/falsify/judge/null"
)

// Costs judges whether a profit is left at higher costs. A level whose run failed is
// missing from the list, and then there is none left at it.
func (j *Judge) Costs(levels []null.Cost) *Test {
	p := j.Policy
	t := j.begin(CostStress, len(levels), map[string]any{"cost_pass": p.CostPass, "cost_warn": p.CostWarn})
	at := func(multiple float64) (*null.Cost, bool) {
		for i := range levels {
			if levels[i].Multiplier == multiple {
				return &levels[i], levels[i].Net.IsPos()
			}
		}
		return nil, false
	}
	if base, _ := at(1); base != nil {
		t.Params["break_even_bps"] = rounded(base.BreakEvenBps)
	}
	level, survives := at(p.CostPass)
	if level == nil {
		t.measure("net_return", nil, "", ">", number(0))
		if j.idle(t) {
			return t
		}
		return t.end(Fail, PluginFailed, "the program failed at "+times(p.CostPass))
	}
	net := j.netReturn(level.Net)
	t.measure("net_return", &net, "", ">", number(0))
	if j.idle(t) {
		return t
	}
	detail := "at " + times(p.CostPass) + " the net result is " + percent(net)
	if survives {
		return t.end(Pass, "", "")
	}
	if _, half := at(p.CostWarn); half {
		return t.end(Warn, NetLoss, detail)
	}
	return t.end(Fail, NetLoss, detail)
}

// Worst judges intrabar_worst: whether market fills at the worse of open and close leave
// a profit.
func (j *Judge) Worst(r Replay) *Test {
	t := j.begin(IntrabarWorst, 1, nil)
	money, err := decimal.Parse(r.NetPnL)
	if r.Status == Broken || r.Status == Completed && err != nil {
		return t.end(Error, HostError, "the replay could not be made")
	}
	if r.Status == Failed {
		t.measure("net_return", nil, "", ">", number(0))
		return t.end(Fail, PluginFailed, "the program failed")
	}
	net := j.netReturn(money)
	t.measure("net_return", &net, "", ">", number(0))
	switch {
	case j.idle(t):
		return t
	case money.IsPos():
		return t.end(Pass, "", "")
	}
	return t.end(Fail, NetLoss, "at the worse of open and close the net result is "+percent(net))
}

// Outliers judges what is left without the best trades, each earning on the account as it
// would have stood without them.
func (j *Judge) Outliers(o null.Outliers) *Test {
	t := j.begin(OutlierTrades, 0, nil)
	t.Params["removed"] = o.Removed
	if j.Base.Trades == 0 {
		t.measure("net_return", nil, "no_trades", ">", number(0))
		return t.end(Inconclusive, "no_trades", "there are no closed trades")
	}
	t.measure("net_return", &o.Net, "", ">", number(0))
	if o.Net > 0 {
		return t.end(Pass, "", "")
	}
	best := plural(o.Removed, "trade")
	return t.end(Fail, NetLoss, "without the best "+best+" the net result is "+percent(o.Net))
}

func (j *Judge) netReturn(money decimal.Decimal) float64 {
	net, _ := money.Float64() // every decimal has a nearest one
	return net / j.Base.Cash
}

// times is a multiple of the costs as people say it.
func times(multiple float64) string {
	if multiple == 2 {
		return "doubled costs"
	}
	return strconv.FormatFloat(multiple, 'f', -1, 64) + " times the costs"
}

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
