package view

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Order is an accepted or rejected intent with its state.
type Order struct {
	OrderID         string      `json:"order_id"`
	ClientOrderID   string      `json:"client_order_id"`
	Symbol          string      `json:"symbol"`
	Side            string      `json:"side"`
	Type            string      `json:"type"`
	Role            string      `json:"role"`
	TimeInForce     string      `json:"time_in_force"`
	Quantity        Money       `json:"quantity"`
	FilledQuantity  Money       `json:"filled_quantity"`
	LimitPrice      *Money      `json:"limit_price"`
	StopPrice       *Money      `json:"stop_price"`
	AveragePrice    *Money      `json:"average_price"`
	Status          string      `json:"status"`
	Fee             Money       `json:"fee"`
	FeeCurrency     string      `json:"fee_currency"`
	ReduceOnly      bool        `json:"reduce_only"`
	ParentOrderID   *string     `json:"parent_order_id"`
	Tag             *string     `json:"tag"`
	RejectReason    *string     `json:"reject_reason"`
	ExchangeOrderID *string     `json:"exchange_order_id"`
	CreatedAt       market.Time `json:"created_at"`
	UpdatedAt       market.Time `json:"updated_at"`
	FilledAt        market.Time `json:"filled_at"`
}

// OrderOf shows an order.
func OrderOf(o *market.Order) Order {
	return Order{
		OrderID: o.ID.String(), ClientOrderID: o.Ref, Symbol: string(o.Symbol), Side: o.Side.String(),
		Type: o.Type.String(), Role: o.Role.String(), TimeInForce: o.TimeInForce.String(),
		Quantity: Money(o.Quantity), FilledQuantity: Money(o.FilledQuantity),
		LimitPrice: price(o.LimitPrice), StopPrice: price(o.StopPrice), AveragePrice: price(o.AveragePrice),
		Status: o.Status.String(), Fee: Money(o.Fee), FeeCurrency: o.Symbol.Quote(), ReduceOnly: o.ReduceOnly,
		ParentOrderID: text(o.ParentID.String()), Tag: text(o.Tag), RejectReason: text(string(o.Reason)),
		ExchangeOrderID: text(o.ExchangeID),
		CreatedAt:       o.CreatedAt, UpdatedAt: o.UpdatedAt, FilledAt: o.FilledAt,
	}
}

// Fill is one execution of an order.
type Fill struct {
	FillID         string      `json:"fill_id"`
	OrderID        string      `json:"order_id"`
	Symbol         string      `json:"symbol"`
	Side           string      `json:"side"`
	Quantity       Money       `json:"quantity"`
	Price          Money       `json:"price"`
	ReferencePrice Money       `json:"reference_price"`
	Slippage       Money       `json:"slippage"`
	Fee            Money       `json:"fee"`
	FeeCurrency    string      `json:"fee_currency"`
	Liquidity      string      `json:"liquidity"`
	Timestamp      market.Time `json:"timestamp"`
	PositionAfter  Money       `json:"position_after"`
	RealizedPnL    Money       `json:"realized_pnl"`
	Ambiguous      bool        `json:"ambiguous"`
	Tag            *string     `json:"tag"`
}

// FillOf shows a fill.
func FillOf(f *market.Fill) Fill {
	return Fill{
		FillID: f.ID.String(), OrderID: f.OrderID.String(), Symbol: string(f.Symbol), Side: f.Side.String(),
		Quantity: Money(f.Quantity), Price: Money(f.Price), ReferencePrice: Money(f.ReferencePrice),
		Slippage: Money(f.Slippage), Fee: Money(f.Fee), FeeCurrency: f.Symbol.Quote(),
		Liquidity: f.Liquidity.String(),
		Timestamp: f.Time, PositionAfter: Money(f.PositionAfter), RealizedPnL: Money(f.RealizedPnL),
		Ambiguous: f.Ambiguous, Tag: text(f.Tag),
	}
}

// Trade is a closed round trip.
type Trade struct {
	TradeID         string      `json:"trade_id"`
	Symbol          string      `json:"symbol"`
	Direction       string      `json:"direction"`
	Quantity        Money       `json:"quantity"`
	EntryTime       market.Time `json:"entry_time"`
	EntryPrice      Money       `json:"entry_price"`
	ExitTime        market.Time `json:"exit_time"`
	ExitPrice       Money       `json:"exit_price"`
	GrossPnL        Money       `json:"gross_pnl"`
	Fees            Money       `json:"fees"`
	Slippage        Money       `json:"slippage"`
	PnL             Money       `json:"pnl"`
	Return          Number      `json:"return"`
	ExitReason      string      `json:"exit_reason"`
	CandlesHeld     int         `json:"candles_held"`
	DurationSeconds Number      `json:"duration_seconds"`
	MAE             Money       `json:"mae"`
	MFE             Money       `json:"mfe"`
	EntryTag        *string     `json:"entry_tag"`
	ExitTag         *string     `json:"exit_tag"`
	OrderIDs        []string    `json:"order_ids"`
	Ambiguous       bool        `json:"ambiguous"`
}

// TradeOf shows a trade.
func TradeOf(t *market.Trade) Trade {
	ids := make([]string, len(t.OrderIDs))
	for i, id := range t.OrderIDs {
		ids[i] = id.String()
	}
	return Trade{
		TradeID: t.ID.String(), Symbol: string(t.Symbol), Direction: t.Direction.String(),
		Quantity:  Money(t.Quantity),
		EntryTime: t.EntryTime, EntryPrice: Money(t.EntryPrice), ExitTime: t.ExitTime,
		ExitPrice: Money(t.ExitPrice),
		GrossPnL:  Money(t.GrossPnL), Fees: Money(t.Fees), Slippage: Money(t.Slippage), PnL: Money(t.PnL),
		Return: Number(t.Return), ExitReason: string(t.ExitReason), CandlesHeld: t.CandlesHeld,
		DurationSeconds: Number(float64(t.ExitTime-t.EntryTime) / 1000),
		MAE:             Money(t.MAE), MFE: Money(t.MFE), EntryTag: text(t.EntryTag),
		ExitTag:  text(t.ExitTag),
		OrderIDs: ids, Ambiguous: t.Ambiguous,
	}
}

// Position is what is held of one symbol.
type Position struct {
	Symbol            string      `json:"symbol"`
	Direction         string      `json:"direction"`
	Quantity          Money       `json:"quantity"`
	AverageEntryPrice Money       `json:"average_entry_price"`
	MarkPrice         Money       `json:"mark_price"`
	MarketValue       Money       `json:"market_value"`
	UnrealizedPnL     Money       `json:"unrealized_pnl"`
	RealizedPnL       Money       `json:"realized_pnl"`
	Fees              Money       `json:"fees"`
	StopLoss          *Money      `json:"stop_loss"`
	TakeProfit        *Money      `json:"take_profit"`
	OpenedAt          market.Time `json:"opened_at"`
	UpdatedAt         market.Time `json:"updated_at"`
}

// PositionOf shows a position.
func PositionOf(p *market.Position) Position {
	return Position{
		Symbol: string(p.Symbol), Direction: p.Direction.String(), Quantity: Money(p.Quantity),
		AverageEntryPrice: Money(p.AverageEntryPrice), MarkPrice: Money(p.MarkPrice),
		MarketValue:   Money(p.MarketValue),
		UnrealizedPnL: Money(p.UnrealizedPnL), RealizedPnL: Money(p.RealizedPnL), Fees: Money(p.Fees),
		StopLoss: price(p.StopLoss), TakeProfit: price(p.TakeProfit), OpenedAt: p.OpenedAt,
		UpdatedAt: p.UpdatedAt,
	}
}

// EquityPoint is the account at one step close.
type EquityPoint struct {
	Timestamp     market.Time `json:"timestamp"`
	Equity        Number      `json:"equity"`
	Cash          Number      `json:"cash"`
	PositionValue Number      `json:"position_value"`
	Drawdown      Number      `json:"drawdown"`
	Exposure      Number      `json:"exposure"`
}

// Curve is an equity curve that writes itself: half a million points are written
// without a struct for each. Picked are the indexes to show; nil shows all.
type Curve struct {
	Columns artifact.EquityCurve
	Picked  []int
}

// Len returns the number of points shown.
func (c Curve) Len() int {
	if c.Picked != nil {
		return len(c.Picked)
	}
	return len(c.Columns.Time)
}

// AppendPoint appends point i as JSON, exactly as encoding/json writes an EquityPoint.
func (c Curve) AppendPoint(b []byte, i int) []byte {
	if c.Picked != nil {
		i = c.Picked[i]
	}
	e := &c.Columns
	b = append(b, `{"timestamp":"`...)
	b = e.Time[i].Time().AppendFormat(b, market.TimeLayout)
	b = append(b, `","equity":`...)
	b = AppendNumber(b, e.Equity[i])
	b = append(b, `,"cash":`...)
	b = AppendNumber(b, e.Cash[i])
	b = append(b, `,"position_value":`...)
	b = AppendNumber(b, e.PositionValue[i])
	b = append(b, `,"drawdown":`...)
	b = AppendNumber(b, e.Drawdown[i])
	b = append(b, `,"exposure":`...)
	b = AppendNumber(b, e.Exposure[i])
	return append(b, '}')
}

// MarshalJSON implements json.Marshaler.
func (c Curve) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i := range c.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		b = c.AppendPoint(b, i)
	}
	return append(b, ']'), nil
}

// List shows entries, never nil.
func List[T, V any](in []T, show func(*T) V) []V {
	out := make([]V, len(in))
	for i := range in {
		out[i] = show(&in[i])
	}
	return out
}

// newest shows the last n entries, newest first.
func newest[T, V any](in []T, n int, show func(*T) V) []V {
	n = min(n, len(in))
	out := make([]V, n)
	for i := range out {
		out[i] = show(&in[len(in)-1-i])
	}
	return out
}

// raw returns a JSON object, {} if there is none.
func raw(m json.RawMessage) json.RawMessage {
	if len(m) == 0 {
		return json.RawMessage("{}")
	}
	return m
}

// Number is a float64 written without exponent. It is shown to 15 significant
// digits, which is what a float64 holds of a decimal number: the rest would be
// noise of binary arithmetic. What is no finite number becomes 0.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) { return AppendNumber(nil, float64(n)), nil }

const digits = 15

// AppendNumber appends x as MarshalJSON writes it.
func AppendNumber(b []byte, x float64) []byte {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return append(b, '0')
	}
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strconv.AppendInt(b, int64(x), 10)
	}
	var buf [32]byte
	e := strconv.AppendFloat(buf[:0], x, 'e', digits-1, 64) // d.dddde±xx
	if e[0] == '-' {
		b, e = append(b, '-'), e[1:]
	}
	mark := len(e) - 1
	for e[mark] != 'e' {
		mark--
	}
	exponent, _ := strconv.Atoi(string(e[mark+1:])) // strconv has just written it
	mantissa := append(e[:1], e[2:mark]...)
	for len(mantissa) > 1 && mantissa[len(mantissa)-1] == '0' {
		mantissa = mantissa[:len(mantissa)-1]
	}
	return appendPlain(b, mantissa, exponent)
}

// appendPlain writes mantissa x 10^(exponent-len(mantissa)+1).
func appendPlain(b, mantissa []byte, exponent int) []byte {
	switch {
	case exponent < 0:
		b = append(b, "0."...)
		for range -exponent - 1 {
			b = append(b, '0')
		}
		return append(b, mantissa...)
	case exponent >= len(mantissa)-1:
		b = append(b, mantissa...)
		for range exponent - len(mantissa) + 1 {
			b = append(b, '0')
		}
		return b
	}
	b = append(b, mantissa[:exponent+1]...)
	b = append(b, '.')
	return append(b, mantissa[exponent+1:]...)
}

// Money is an exact decimal as JSON number.
type Money decimal.Decimal

// MarshalJSON implements json.Marshaler.
func (m Money) MarshalJSON() ([]byte, error) {
	return []byte(decimal.Decimal(m).Trim(0).String()), nil
}

// Plain is a decimal number as text, as the books give it; "" is 0.
type Plain string

// MarshalJSON implements json.Marshaler.
func (p Plain) MarshalJSON() ([]byte, error) {
	d, err := decimal.Parse(string(p))
	if err != nil {
		return []byte("0"), nil
	}
	return Money(d).MarshalJSON()
}

// price is null for what is absent.
func price(d decimal.Decimal) *Money {
	if d.IsZero() {
		return nil
	}
	m := Money(d)
	return &m
}

// text is null for what is absent.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Difference returns a - b as people compute it: in decimal, from the shown digits.
func Difference(a, b float64) Number {
	x, errX := decimal.Parse(string(AppendNumber(nil, a)))
	y, errY := decimal.Parse(string(AppendNumber(nil, b)))
	if errX != nil || errY != nil {
		return Number(a - b)
	}
	d, err := x.Sub(y)
	if err != nil {
		return Number(a - b)
	}
	f, _ := d.Float64()
	return Number(f)
}

// rounded cuts a number for people to so many places.
func rounded(x float64, places int) Number {
	scale := math.Pow10(places)
	return Number(math.Round(x*scale) / scale)
}
