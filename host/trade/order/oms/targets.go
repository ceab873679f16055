package oms

import (
	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// bracketsOf counts the brackets that an entry needs: one for each target, and one for what no target sells.
func bracketsOf(in *market.Intent) int {
	n := len(in.Targets)
	if parts, _ := sim.SplitTargets(decimal.One, in.Targets, decimal.MustNew(1, 9)); n > 0 {
		all := dec{}
		for _, p := range parts {
			all = order.Plus(all, p)
		}
		if all.Cmp(decimal.One) == 0 {
			return n
		}
	}
	return n + 1
}

// divide returns by how much the bracket of each target of an entry grows when it has brought net more, and
// at last that of what no target sells. A venue takes one pair of exits for one quantity, so each target has
// a stop of its own; together they cover what is held. What is too small for the venue is given to the last
// of them, which gives it back when more has come.
func (pr *protector) divide(p *logicalOrder, net, price dec) []dec {
	targets := p.intent.TakeProfits()
	if p.parts == nil {
		p.parts = make([]dec, len(targets)+1)
	}
	if len(p.intent.Targets) == 0 {
		grown := make([]dec, len(targets)+1)
		grown[0] = net
		return grown
	}
	total, rules := net, pr.manager.sym[p.sym].rules
	for _, part := range p.parts {
		total = order.Plus(total, part)
	}
	step := rules.Step(market.Limit)
	if !step.IsPos() {
		step = decimal.MustNew(1, 8)
	}
	want, fit := sim.SplitTargets(total, targets, step)
	if !fit {
		want = make([]dec, len(targets))
	}
	rest := total
	for _, part := range want {
		rest = order.Minus(rest, part)
	}
	want = append(want, rest)
	last := bracketsOf(&p.intent) - 1
	for i := range want {
		if i != last && pr.isSmall(p, i, want[i], price) {
			want[last], want[i] = order.Plus(want[last], want[i]), dec{}
		}
	}
	for i := last - 1; i >= 0 && pr.isSmall(p, last, want[last], price); i-- {
		if want[i].IsPos() {
			want[i], want[last] = order.Plus(want[i], want[last]), dec{}
		}
	}
	return pr.growth(p, want, last, net)
}

// growth returns what leads from the parts so far to those that are wanted: the last gives no more back than
// it holds.
func (pr *protector) growth(p *logicalOrder, want []dec, last int, net dec) []dec {
	left := net
	if g := pr.liveBracket(p, last); g != nil {
		left = order.Plus(left, g.held)
	}
	grown, given := make([]dec, len(want)), dec{}
	for i := range want {
		if i == last {
			continue
		}
		grown[i] = order.Minus(want[i], p.parts[i]).Max(dec{}).Min(left)
		left, given = order.Minus(left, grown[i]), order.Plus(given, grown[i])
	}
	grown[last] = order.Minus(net, given)
	return grown
}

// isSmall reports whether the venue takes no exit for so little of an entry.
func (pr *protector) isSmall(p *logicalOrder, part int, quantity, price dec) bool {
	if !quantity.IsPos() {
		return false
	}
	sym, level := &pr.manager.sym[p.sym], price
	switch targets := p.intent.TakeProfits(); {
	case p.intent.StopLoss != nil:
		level = levelOf(p.intent.StopLoss, true, price)
	case part < len(targets):
		level = levelOf(&targets[part].Level, false, price)
	}
	s := order.Spec{Symbol: p.Symbol, Side: market.Sell, Type: market.Limit, Exit: true, Reference: sym.last,
		LimitPrice: sym.rules.RoundPrice(market.Sell, level),
		Quantity:   sym.rules.RoundQuantity(market.Limit, quantity)}
	return sym.rules.Check(s, sym.last) == order.CodeBelowMinimum
}
