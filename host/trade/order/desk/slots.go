package desk

import (
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// denySlot says by which code an entry cannot be because of what the market lets be open or held; "" when it
// can. An entry with a stop needs a place for it: it must not fill without one.
func (it *intake) denySlot(p *logicalOrder) string {
	in, rules := p.intent, it.desk.sym[p.sym].rules
	if in.Side != market.Buy {
		return ""
	}
	if rules.MaxPosition.IsPos() && in.Size.Kind == market.SizeQuantity {
		size, err := order.FromFloat(in.Size.Value)
		if err == nil && order.Plus(it.ledger.Quantity(p.Symbol), size).Cmp(rules.MaxPosition) > 0 {
			return order.CodeAboveMaximum
		}
	}
	if rules.MaxStops == 0 || (in.StopLoss == nil && !in.Type.NeedsStop() && in.Type != market.TrailingStop) {
		return ""
	}
	used := 0
	for _, o := range it.desk.live {
		if !o.done && o != p && o.Symbol == p.Symbol {
			used += stopsOf(o)
		}
	}
	if used+stopsOf(p) > rules.MaxStops {
		return CodeNoExitSlot
	}
	return ""
}

// stopsOf is how many orders with a stop price an order is, or will need.
func stopsOf(p *logicalOrder) (n int) {
	if p.intent.Type.NeedsStop() || p.intent.Type == market.TrailingStop || (p.group != nil && p.Role == market.RoleStopLoss) {
		n++
	}
	if p.intent.StopLoss != nil && p.Side == market.Buy {
		n++
	}
	return n
}

// CodeNoExitSlot: the market takes no more orders with a stop price, which the entry needs for its exit.
const CodeNoExitSlot = "NO_EXIT_SLOT"
