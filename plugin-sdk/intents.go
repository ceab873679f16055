package sdk

import (
	"slices"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Size is how much to trade.
type Size = market.Size

// AllCash spends all free cash, fee included.
func AllCash() Size { return CashFraction(1) }

// Quantity is a size in units of the base.
func Quantity(q float64) Size { return Size{Kind: market.SizeQuantity, Value: q} }

// QuoteAmount is a size in quote currency, fee included: a buy spends it, a sale is for as much.
func QuoteAmount(amount float64) Size { return Size{Kind: market.SizeQuoteAmount, Value: amount} }

// CashFraction spends this share, in (0, 1], of the free cash at the fill, fee included.
func CashFraction(f float64) Size { return Size{Kind: market.SizeCashFraction, Value: f} }

// EquityFraction is a share of the equity, in (0, 1]. It becomes a quantity at the close of the decision, of
// the order's own price or else of that close, and is cut at the fill to what the free cash pays for. A share
// below one step is no order.
func EquityFraction(f float64) Size { return Size{Kind: market.SizeEquityFraction, Value: f} }

// RiskFraction is as much as loses this share of the equity, in (0, 1], at the order's StopLoss, before fees
// and slippage. It is fixed and cut like EquityFraction.
func RiskFraction(f float64) Size { return Size{Kind: market.SizeRiskFraction, Value: f} }

// WholePosition is the size of the whole position at the fill; it makes the order reduce-only.
func WholePosition() Size { return Size{Kind: market.SizePosition} }

// Intents is a list of intents. Its methods give a list with each of them changed and leave their receiver as
// it is, so that an order reads as one sentence,
// sdk.Buy(sdk.AllCash()).Limit(99).StopLoss(sdk.Percent(0.02)), and a base can be shared by several orders.
type Intents []Intent

// Buy is a market order to buy; Limit, Stop and their neighbours change its type. The zero Size ends the run
// with an error.
func Buy(size Size) Intents { return submit(market.Buy, size) }

// Sell is a market order to sell.
func Sell(size Size) Intents { return submit(market.Sell, size) }

func submit(side market.Side, size Size) Intents {
	return Intents{{Action: market.Submit, Side: side, Size: size}}
}

// Target brings the position of a symbol to this share of the equity, in [-1, 1]: it buys or sells what is
// missing. Below 0 is short, which the run must allow; 0 closes the whole position. The share becomes a
// quantity and is cut like EquityFraction; open orders do not count. A new target of a symbol takes back the
// open order of the one before, and of the targets of one step those that reduce are filled first.
func Target(f float64) Intents {
	return Intents{{Action: market.Submit, Size: Size{Kind: market.SizeTargetFraction, Value: f}}}
}

// ClosePosition flattens the run's first symbol, or the one that On names, with a
// reduce-only market order. Resting entries stay.
func ClosePosition() Intents { return Intents{{Action: market.Close}} }

// Cancel takes back the order with this client reference or order id. An empty ref is an error; CancelAll
// takes back every order of a symbol.
func Cancel(ref string) Intents { return Intents{{Action: market.Cancel, Ref: ref}} }

// CancelAll takes back every open order of the run's first symbol, or of the one that On names.
func CancelAll() Intents { return Intents{{Action: market.CancelAll}} }

// Replace changes the open order with this client reference or order id. Set what
// shall change with WithSize, Limit, Stop and ExpireAfter; the rest stays.
func Replace(ref string) Intents { return Intents{{Action: market.Replace, Ref: ref}} }

// MoveStop moves the stop losses of the position in the run's first symbol, or in the one that On names, to
// this price. It is refused where nothing is held (no_position), where the position has no stop loss (no_leg)
// or one that trails (invalid_type), and where the last close has reached the price (would_fill): then they
// stay where they are. Replace moves one leg of several, by its id.
func MoveStop(price float64) Intents {
	return Intents{{Action: market.SetLeg, StopLoss: &Level{Price: price}}}
}

// MoveTarget moves the take profits of the position to this price, as MoveStop does the stop losses.
func MoveTarget(price float64) Intents {
	return Intents{{Action: market.SetLeg, TakeProfit: &Level{Price: price}}}
}

// On names the symbol in a run of several; without it the run's first is meant.
func (in Intents) On(symbol Symbol) Intents {
	return in.each(func(i *Intent) { i.Symbol = symbol })
}

// WithSize sets the size.
func (in Intents) WithSize(size Size) Intents { return in.each(func(i *Intent) { i.Size = size }) }

// Limit makes it a limit order, or a stop-limit order after Stop.
func (in Intents) Limit(price float64) Intents {
	return in.each(func(i *Intent) {
		i.LimitPrice = price
		if i.Type == market.Stop {
			i.Type = market.StopLimit
		} else {
			i.Type = market.Limit
		}
	})
}

// Stop makes it a stop order, or a stop-limit order after Limit.
func (in Intents) Stop(price float64) Intents {
	return in.each(func(i *Intent) {
		i.StopPrice = price
		if i.Type == market.Limit {
			i.Type = market.StopLimit
		} else {
			i.Type = market.Stop
		}
	})
}

// TrailPercent makes it a trailing stop that follows at this fraction, in (0, 1).
func (in Intents) TrailPercent(f float64) Intents {
	return in.each(func(i *Intent) { i.Type, i.TrailPercent = market.TrailingStop, f })
}

// TrailAmount makes it a trailing stop that follows at this distance in quote per unit.
func (in Intents) TrailAmount(a float64) Intents {
	return in.each(func(i *Intent) { i.Type, i.TrailAmount = market.TrailingStop, a })
}

// ExpireAfter lets the order live on n candles of its symbol.
func (in Intents) ExpireAfter(n int) Intents {
	return in.each(func(i *Intent) { i.TimeInForce, i.ExpireAfter = market.GTD, n })
}

// ImmediateOrCancel lets the order live on the next open only.
func (in Intents) ImmediateOrCancel() Intents {
	return in.each(func(i *Intent) { i.TimeInForce = market.IOC })
}

// ReduceOnly cuts the order to the position.
func (in Intents) ReduceOnly() Intents { return in.each(func(i *Intent) { i.ReduceOnly = true }) }

// PostOnly lets a limit order rest or be rejected (would_take): it never takes.
func (in Intents) PostOnly() Intents { return in.each(func(i *Intent) { i.PostOnly = true }) }

// Level is where a bracket child sits.
type Level = market.Child

// At is a child at an absolute price.
func At(price float64) Level { return Level{Price: price} }

// Percent is a child this fraction away from the fill price of its parent.
func Percent(f float64) Level { return Level{Percent: f} }

// TrailingPercent is a stop loss that follows at this fraction.
func TrailingPercent(f float64) Level { return Level{TrailPercent: f} }

// TrailingAmount is a stop loss that follows at this distance in quote per unit.
func TrailingAmount(a float64) Level { return Level{TrailAmount: a} }

// Tighten lets a stop loss follow at this fraction from a gain of more than after on, a fraction of the fill
// price. Before that it stays or follows as it says.
func Tighten(stop Level, to, after float64) Level {
	stop.TightenTo, stop.TightenAfter = to, after
	return stop
}

// StopLoss adds a stop loss that is made when the order fills.
func (in Intents) StopLoss(level Level) Intents {
	return in.each(func(i *Intent) { l := level; i.StopLoss = &l })
}

// TakeProfit adds a take profit that is made when the order fills.
func (in Intents) TakeProfit(level Level) Intents {
	return in.each(func(i *Intent) { l := level; i.TakeProfit = &l })
}

// TakePart adds a take profit for a share of the entry, in (0, 1]: one of several, each at a level of its
// own. The shares sum to at most 1; the stop loss covers what is still held of the entry.
func (in Intents) TakePart(share float64, level Level) Intents {
	return in.each(func(i *Intent) {
		i.Targets = append(slices.Clone(i.Targets), market.TakeProfit{Level: level, Share: share})
	})
}

// What a position can be, for When.
const (
	Flat  = market.StanceFlat
	Long  = market.StanceLong
	Short = market.StanceShort
)

// When drops the intents unless the position of their symbol is one of these when they are accepted, as in
// When(sdk.Flat|sdk.Short). Nothing is rejected then. Among several intents the earlier ones count already,
// and a guarded order that may open or add is dropped while another one of its symbol is working.
func (in Intents) When(position market.Stance) Intents {
	return in.guarded(func(g *market.Guard) { g.Position = position })
}

// EvenWhileWorking is a guard that lets an entry through while another one of its symbol is working.
func (in Intents) EvenWhileWorking() Intents {
	return in.guarded(func(g *market.Guard) { g.EntryWorking = true })
}

// MaxEntries is a guard that drops what would be more than the n-th order of its position, those that are
// working included.
func (in Intents) MaxEntries(n int) Intents {
	return in.guarded(func(g *market.Guard) { g.MaxEntries = n })
}

// MaxOpen is a guard that drops what would lead to positions in more than n symbols, those with a working
// entry included.
func (in Intents) MaxOpen(n int) Intents {
	return in.guarded(func(g *market.Guard) { g.MaxOpen = n })
}

func (in Intents) guarded(change func(*market.Guard)) Intents {
	return in.each(func(i *Intent) {
		g := market.Guard{}
		if i.Guard != nil {
			g = *i.Guard
		}
		change(&g)
		i.Guard = &g
	})
}

// Tag labels orders, fills and trades.
func (in Intents) Tag(tag string) Intents { return in.each(func(i *Intent) { i.Tag = tag }) }

// Ref names the order for a later Cancel or Replace.
func (in Intents) Ref(ref string) Intents { return in.each(func(i *Intent) { i.ClientRef = ref }) }

// And is both lists, one after the other.
func (in Intents) And(more Intents) Intents { return slices.Concat(in, more) }

// OCO makes one group of new orders of one symbol: they are accepted all or none, and the first fill of any
// of them, however small, cancels the others.
func OCO(orders ...Intents) Intents {
	out := slices.Concat(orders...)
	for i := range out {
		out[i].OCO = i + 1
	}
	return out
}

// each changes a copy. Levels are not shared either: StopLoss and TakeProfit set new ones.
func (in Intents) each(change func(*Intent)) Intents {
	out := slices.Clone(in)
	for i := range out {
		change(&out[i])
	}
	return out
}
