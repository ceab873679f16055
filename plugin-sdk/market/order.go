package market

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/govalues/decimal"
)

// OrderID numbers the orders of a run from 1 in the order of acceptance.
type OrderID int64

// String is the id used in JSON: o-000143; "" for zero.
func (id OrderID) String() string { return formatID('o', int64(id)) }

// MarshalText makes it a JSON string.
func (id OrderID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (id *OrderID) UnmarshalText(text []byte) error { return parseID(id, 'o', text) }

// FillID numbers the fills of a run from 1.
type FillID int64

// String is the id used in JSON: f-000201; "" for zero.
func (id FillID) String() string { return formatID('f', int64(id)) }

// MarshalText makes it a JSON string.
func (id FillID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (id *FillID) UnmarshalText(text []byte) error { return parseID(id, 'f', text) }

// TradeID numbers the trades of a run from 1 in the order in which they close.
type TradeID int64

// String is the id used in JSON: t-000071; "" for zero.
func (id TradeID) String() string { return formatID('t', int64(id)) }

// MarshalText makes it a JSON string.
func (id TradeID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (id *TradeID) UnmarshalText(text []byte) error { return parseID(id, 't', text) }

func formatID(prefix byte, n int64) string {
	if n == 0 {
		return ""
	}
	var buf [24]byte
	b := append(buf[:0], prefix, '-')
	for limit := int64(100_000); limit > n && limit > 1; limit /= 10 {
		b = append(b, '0')
	}
	return string(strconv.AppendInt(b, n, 10))
}

// parseID takes only the form that formatID gives, so that a number has one text.
func parseID[T ~int64](into *T, prefix byte, text []byte) error {
	if len(text) == 0 {
		*into = 0
		return nil
	}
	number, ok := strings.CutPrefix(string(text), string(prefix)+"-")
	n, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || n < 1 || formatID(prefix, n) != string(text) {
		return fmt.Errorf("%q is not an id of the form %s", text, formatID(prefix, 143))
	}
	*into = T(n)
	return nil
}

// Order is an accepted (or rejected) Intent with id and state. Zero prices and
// times mean absent.
type Order struct {
	ID OrderID `json:"order_id"`
	// ParentID is the entry that a bracket child belongs to.
	ParentID OrderID `json:"parent_order_id,omitzero"`
	// Ref is the ClientRef of the intent.
	Ref         string      `json:"client_ref,omitzero"`
	Symbol      Symbol      `json:"symbol"`
	Side        Side        `json:"side"`
	Type        OrderType   `json:"type"`
	Role        Role        `json:"role"`
	TimeInForce TimeInForce `json:"time_in_force"`
	ReduceOnly  bool        `json:"reduce_only"`
	// Quantity in units of the base; zero until the fill for orders sized by cash or by position.
	Quantity       decimal.Decimal `json:"quantity"`
	FilledQuantity decimal.Decimal `json:"filled_quantity"`
	LimitPrice     decimal.Decimal `json:"limit_price"`
	StopPrice      decimal.Decimal `json:"stop_price"`
	AveragePrice   decimal.Decimal `json:"average_price"`
	Fee            decimal.Decimal `json:"fee"` // in quote currency
	Status         OrderStatus     `json:"status"`
	// Reason is the code of a rejected, canceled or expired order.
	Reason Reason `json:"reason,omitzero"`
	Tag    string `json:"tag,omitzero"`
	// ExchangeID is what an exchange calls the newest order that it has behind this one; "" without one.
	// It is for people who look at the exchange: strategies are not told it.
	ExchangeID string `json:"exchange_order_id,omitzero"`
	// CreatedAt is the close time of the candle that led to the order; FilledAt the open time of the candle of the fill.
	CreatedAt Time `json:"created_at"`
	UpdatedAt Time `json:"updated_at"`
	FilledAt  Time `json:"filled_at"`
}

// Fill is one execution of an Order.
type Fill struct {
	ID      FillID  `json:"fill_id"`
	OrderID OrderID `json:"order_id"`
	Symbol  Symbol  `json:"symbol"`
	Side    Side    `json:"side"`
	Role    Role    `json:"role"`
	// Quantity in units of the base, always positive.
	Quantity decimal.Decimal `json:"quantity"`
	// Price after slippage; ReferencePrice before it.
	Price          decimal.Decimal `json:"price"`
	ReferencePrice decimal.Decimal `json:"reference_price"`
	// Slippage is |Price - ReferencePrice| x Quantity, Fee what the venue charges; both in quote currency.
	Slippage  decimal.Decimal `json:"slippage"`
	Fee       decimal.Decimal `json:"fee"`
	Liquidity Liquidity       `json:"liquidity"`
	// Time is the open time of the candle in which the fill happened.
	Time Time `json:"time"`
	// PositionAfter is the signed quantity held after the fill, RealizedPnL the gross profit that it realised.
	PositionAfter decimal.Decimal `json:"position_after"`
	RealizedPnL   decimal.Decimal `json:"realized_pnl"`
	// Ambiguous reports whether the candle leaves open that it happened this way.
	Ambiguous bool   `json:"ambiguous"`
	Tag       string `json:"tag,omitzero"`
}

// Trade is a closed round trip, flat to flat.
type Trade struct {
	ID        TradeID   `json:"trade_id"`
	Symbol    Symbol    `json:"symbol"`
	Direction Direction `json:"direction"`
	// Quantity is the sum of the opening fills.
	Quantity decimal.Decimal `json:"quantity"`
	// EntryTime and ExitTime are open times of candles; prices are weighted by quantity.
	EntryTime  Time            `json:"entry_time"`
	ExitTime   Time            `json:"exit_time"`
	EntryPrice decimal.Decimal `json:"entry_price"`
	ExitPrice  decimal.Decimal `json:"exit_price"`
	// GrossPnL - Fees = PnL, in quote currency. Slippage is inside the prices already.
	GrossPnL decimal.Decimal `json:"gross_pnl"`
	Fees     decimal.Decimal `json:"fees"`
	Slippage decimal.Decimal `json:"slippage"`
	PnL      decimal.Decimal `json:"pnl"`
	// Return is PnL / opening notional, a fraction.
	Return     float64    `json:"return"`
	ExitReason ExitReason `json:"exit_reason"`
	// CandlesHeld counts candles of the symbol from entry to exit; the same candle is 0.
	CandlesHeld int `json:"candles_held"`
	// MAE <= 0 <= MFE: worst and best excursion in quote currency, before fees.
	MAE       decimal.Decimal `json:"mae"`
	MFE       decimal.Decimal `json:"mfe"`
	EntryTag  string          `json:"entry_tag,omitzero"`
	ExitTag   string          `json:"exit_tag,omitzero"`
	OrderIDs  []OrderID       `json:"order_ids"`
	Ambiguous bool            `json:"ambiguous"`
}

// Position is the signed net quantity of one symbol at average entry. Flat is
// Quantity zero.
type Position struct {
	Symbol    Symbol    `json:"symbol"`
	Direction Direction `json:"direction"`
	// Quantity and MarketValue are signed: negative when short.
	Quantity          decimal.Decimal `json:"quantity"`
	AverageEntryPrice decimal.Decimal `json:"average_entry_price"`
	MarkPrice         decimal.Decimal `json:"mark_price"`
	MarketValue       decimal.Decimal `json:"market_value"`
	// UnrealizedPnL and RealizedPnL are gross, Fees beside them; all since the position was opened, in quote currency.
	UnrealizedPnL decimal.Decimal `json:"unrealized_pnl"`
	RealizedPnL   decimal.Decimal `json:"realized_pnl"`
	Fees          decimal.Decimal `json:"fees"`
	// StopLoss and TakeProfit are the prices of the live bracket children; zero if there are none.
	StopLoss   decimal.Decimal `json:"stop_loss"`
	TakeProfit decimal.Decimal `json:"take_profit"`
	OpenedAt   Time            `json:"opened_at"`
	UpdatedAt  Time            `json:"updated_at"`
}

// EquityPoint is the account at the close of one step, in quote currency.
type EquityPoint struct {
	// Time is the close time of the step.
	Time Time `json:"time"`
	// Equity = Cash + PositionValue (signed).
	Equity        float64 `json:"equity"`
	Cash          float64 `json:"cash"`
	PositionValue float64 `json:"position_value"`
	// Drawdown is (peak - equity) / peak, a fraction >= 0.
	Drawdown float64 `json:"drawdown"`
	// Exposure is the sum of notional / equity.
	Exposure float64 `json:"exposure"`
}
