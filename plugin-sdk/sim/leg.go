package sim

import "github.com/assay-run/assay/plugin-sdk/market"

// RefuseMove is the code of why a position cannot have its legs moved, "" where it can (R17): there is none,
// a leg is given no single price, or the last close has reached it. Backtest, paper and live share it.
func RefuseMove(in *market.Intent, held market.Stance, last float64) market.Reason {
	if in.StopLoss == nil && in.TakeProfit == nil {
		return market.ReasonInvalidBracket
	}
	if held == market.StanceFlat {
		return market.ReasonNoPosition
	}
	for _, leg := range [...]struct {
		to    *market.Child
		below bool // it sits below the price
	}{{in.StopLoss, held == market.StanceLong}, {in.TakeProfit, held == market.StanceShort}} {
		switch {
		case leg.to == nil:
		case *leg.to != market.Child{Price: leg.to.Price}:
			return market.ReasonInvalidBracket
		case leg.to.Price <= 0:
			return market.ReasonInvalidPrice
		case leg.to.Price == last || leg.to.Price < last != leg.below:
			return market.ReasonWouldFill
		}
	}
	return ""
}

// MoveOf is the replace that moves a leg with this role; false where the intent does not mean it.
func MoveOf(in *market.Intent, role market.Role) (change market.Intent, meant bool) {
	change.Action = market.Replace
	switch {
	case role == market.RoleStopLoss && in.StopLoss != nil:
		change.StopPrice = in.StopLoss.Price
	case role == market.RoleTakeProfit && in.TakeProfit != nil:
		change.LimitPrice = in.TakeProfit.Price
	default:
		return change, false
	}
	return change, true
}

// moveLegs replaces the legs of a position that do not stand at their new price yet (R17). The code is why it
// could not: then none of them moves.
func moveLegs(n *intake, sym int, in *market.Intent) (market.Reason, error) {
	if reason := RefuseMove(in, holdings{n}.Stance(sym), n.symbols[sym].candle.Close); reason != "" {
		return reason, nil
	}
	var moves []message
	stops, targets := in.StopLoss == nil, in.TakeProfit == nil
	for _, o := range n.live {
		change, meant := MoveOf(in, o.Role)
		if !meant || o.done || o.sym != sym || !o.isChild() {
			continue
		}
		stops, targets = stops || o.Role == market.RoleStopLoss, targets || o.Role == market.RoleTakeProfit
		if o.Type == market.TrailingStop {
			return market.ReasonInvalidType, nil
		}
		before := n.foreseen(o)
		changed, reason := changedBy(n, o, &change)
		if reason != "" {
			return reason, nil
		}
		if changed.StopPrice.Cmp(before.StopPrice) != 0 || changed.LimitPrice.Cmp(before.LimitPrice) != 0 {
			moves = append(moves, message{action: market.Replace, sym: sym, order: o, change: &change,
				terms: changed})
		}
	}
	if !stops || !targets {
		return market.ReasonNoLeg, nil
	}
	for _, m := range moves {
		if err := n.send(m); err != nil {
			return "", err
		}
	}
	return "", nil
}
