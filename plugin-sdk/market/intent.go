package market

// Action is what an Intent asks for.
type Action uint8

// The actions.
const (
	// Submit asks for a new order.
	Submit Action = iota
	// Cancel takes back the order that Ref names.
	Cancel
	// Replace changes size, prices or expiry of the open non-market order that Ref names.
	// The order keeps its id and loses its place: it counts as newly arrived.
	Replace
	// Close flattens Symbol with a reduce-only market order. Resting entries stay.
	Close
	// CancelAll takes back every open order of Symbol.
	CancelAll
)

var actionNames = []string{"submit", "cancel", "replace", "close", "cancel_all"}

// String is the name in JSON.
func (a Action) String() string { return name(actionNames, int(a)) }

// MarshalText is String, and an error for a value without a name.
func (a Action) MarshalText() ([]byte, error) { return marshalName(actionNames, "action", int(a)) }

// UnmarshalText reads what MarshalText writes.
func (a *Action) UnmarshalText(text []byte) error {
	return unmarshalName(a, actionNames, "action", text)
}

// ParseAction reads the name in JSON.
func ParseAction(s string) (Action, error) { return parse[Action](actionNames, "action", s) }

// SizeKind is what Size.Value counts.
type SizeKind uint8

// The kinds of size.
const (
	// SizeNone is no size: a replace that leaves the size as it is. A new order needs one.
	SizeNone SizeKind = iota
	// SizeQuantity counts units of the base.
	SizeQuantity
	// SizeQuoteAmount counts quote currency, fee included.
	SizeQuoteAmount
	// SizeCashFraction is a share of the free cash at the fill, in (0, 1].
	SizeCashFraction
	// SizePosition is the whole position at the fill, without a Value. The order is reduce-only.
	SizePosition
)

var sizeKindNames = []string{"none", "quantity", "quote_amount", "cash_fraction", "position"}

// String is the name in JSON.
func (k SizeKind) String() string { return name(sizeKindNames, int(k)) }

// MarshalText is String, and an error for a value without a name.
func (k SizeKind) MarshalText() ([]byte, error) {
	return marshalName(sizeKindNames, "kind of size", int(k))
}

// UnmarshalText reads what MarshalText writes.
func (k *SizeKind) UnmarshalText(text []byte) error {
	return unmarshalName(k, sizeKindNames, "kind of size", text)
}

// ParseSizeKind reads the name in JSON.
func ParseSizeKind(s string) (SizeKind, error) {
	return parse[SizeKind](sizeKindNames, "kind of size", s)
}

// Size is how much an Intent wants, in exactly one way.
type Size struct {
	Kind  SizeKind `json:"kind"`
	Value float64  `json:"value,omitzero"`
}

// Child is one leg of a bracket: an order made when its parent fills. Exactly one
// field is set; zero means absent. The trailing fields are for a stop loss only.
type Child struct {
	Price        float64 `json:"price,omitzero"`         // absolute
	Percent      float64 `json:"percent,omitzero"`       // fraction of the parent's fill price
	TrailPercent float64 `json:"trail_percent,omitzero"` // fraction, in (0, 1)
	TrailAmount  float64 `json:"trail_amount,omitzero"`  // quote currency per unit
}

// Intent is what a strategy wants. It has no id and may be rejected with a reason.
// Zero prices, trails and expiry mean absent.
type Intent struct {
	Action Action `json:"action"`
	// Symbol may be empty in a run of one symbol.
	Symbol Symbol    `json:"symbol,omitzero"`
	Side   Side      `json:"side"`
	Type   OrderType `json:"type"`
	Size   Size      `json:"size"`
	// LimitPrice is for limit and stop_limit orders: required there, forbidden elsewhere.
	LimitPrice float64 `json:"limit_price,omitzero"`
	// StopPrice is for stop and stop_limit orders: required there, forbidden elsewhere.
	StopPrice float64 `json:"stop_price,omitzero"`
	// TrailPercent, a fraction in (0, 1), or TrailAmount, quote per unit: a trailing_stop has one of them.
	TrailPercent float64     `json:"trail_percent,omitzero"`
	TrailAmount  float64     `json:"trail_amount,omitzero"`
	TimeInForce  TimeInForce `json:"time_in_force"`
	// ExpireAfter is the number of candles of the symbol that a gtd order lives on.
	ExpireAfter int `json:"expire_after,omitzero"`
	// ReduceOnly cuts the order to the position; it never turns it. Ask Reduces, which knows the size too.
	ReduceOnly bool   `json:"reduce_only,omitzero"`
	StopLoss   *Child `json:"stop_loss,omitzero"`
	TakeProfit *Child `json:"take_profit,omitzero"`
	// Tag is free text that ends up on orders, fills and trades.
	Tag string `json:"tag,omitzero"`
	// ClientRef names the order for a later cancel or replace. When several open orders share it the newest is meant.
	ClientRef string `json:"client_ref,omitzero"`
	// Ref is what cancel and replace refer to: a ClientRef or an order id such as o-000143.
	Ref string `json:"ref,omitzero"`
}

// Reduces reports whether the order can only cut a position: because it says so, or because its size is the
// whole position.
func (in *Intent) Reduces() bool { return in.ReduceOnly || in.Size.Kind == SizePosition }
