package market

// Action is what an Intent asks for.
type Action uint8

// The actions.
const (
	// Submit asks for a new order.
	Submit Action = iota
	// Cancel takes back the order that Ref names, or all orders of Symbol when Ref is empty.
	Cancel
	// Replace changes size, prices or expiry of the open non-market order that Ref names.
	// The order keeps its id and loses its place: it counts as newly arrived.
	Replace
	// Close flattens Symbol with a reduce-only market order. Resting entries stay.
	Close
)

var actionNames = []string{"submit", "cancel", "replace", "close"}

// String is the name used in JSON.
func (a Action) String() string { return name(actionNames, int(a)) }

// ParseAction reads the name used in JSON.
func ParseAction(s string) (Action, error) { return parse[Action](actionNames, "action", s) }

// SizeKind says what Size.Value counts.
type SizeKind uint8

// The kinds of size.
const (
	// SizeNone: no size given. Allowed with reduce_only (the whole position) and in a replace (unchanged).
	SizeNone SizeKind = iota
	// SizeQuantity: units of the base.
	SizeQuantity
	// SizeQuoteAmount: this much quote currency, fee included.
	SizeQuoteAmount
	// SizeCashFraction: this share of the free cash at the fill, in (0, 1].
	SizeCashFraction
)

var sizeKindNames = []string{"none", "quantity", "quote_amount", "cash_fraction"}

// String is the name used in JSON.
func (k SizeKind) String() string { return name(sizeKindNames, int(k)) }

// Size is how much an Intent wants, in exactly one way.
type Size struct {
	Kind  SizeKind
	Value float64
}

// Child is one leg of a bracket: an order made when its parent fills. Exactly one
// field is set; zero means absent. The trailing fields are for a stop loss only.
type Child struct {
	Price        float64 // absolute
	Percent      float64 // fraction of the parent's fill price
	TrailPercent float64 // fraction, in (0, 1)
	TrailAmount  float64 // quote currency per unit
}

// Intent is what a strategy wants. It has no id and may be rejected with a reason.
// Zero prices, trails and expiry mean absent.
type Intent struct {
	Action Action
	// Symbol may be empty in a run of one symbol.
	Symbol Symbol
	Side   Side
	Type   OrderType
	Size   Size
	// LimitPrice for limit and stop_limit, StopPrice for stop and stop_limit: required there, forbidden elsewhere.
	LimitPrice, StopPrice float64
	// TrailPercent (fraction in (0,1)) or TrailAmount (quote per unit): one of them for trailing_stop.
	TrailPercent, TrailAmount float64
	TimeInForce               TimeInForce
	// ExpireAfter is the number of candles of the symbol that a gtd order lives on.
	ExpireAfter int
	// ReduceOnly cuts the order to the position; it never turns it.
	ReduceOnly           bool
	StopLoss, TakeProfit *Child
	// Tag is free text that ends up on orders, fills and trades.
	Tag string
	// ClientRef names the order for a later cancel or replace. When several open orders share it the newest is meant.
	ClientRef string
	// Ref is what cancel and replace refer to: a ClientRef or an order id such as o-000143.
	Ref string
}
