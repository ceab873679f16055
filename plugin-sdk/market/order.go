package market

import (
	"strconv"

	"github.com/govalues/decimal"
)

// OrderID numbers the orders of a run from 1 in the order of acceptance.
type OrderID int64

// String is the id used in JSON: o-000143; "" for zero.
func (id OrderID) String() string { return formatID('o', int64(id)) }

// FillID numbers the fills of a run from 1.
type FillID int64

// String is the id used in JSON: f-000201; "" for zero.
func (id FillID) String() string { return formatID('f', int64(id)) }

// TradeID numbers the trades of a run from 1 in the order in which they close.
type TradeID int64

// String is the id used in JSON: t-000071; "" for zero.
func (id TradeID) String() string { return formatID('t', int64(id)) }

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

// Order is an accepted (or rejected) Intent with id and state. Zero prices and
// times mean absent.
type Order struct {
	ID       OrderID
	ParentID OrderID // the entry that a bracket child belongs to
	// Ref is the ClientRef of the intent.
	Ref         string
	Symbol      Symbol
	Side        Side
	Type        OrderType
	Role        Role
	TimeInForce TimeInForce
	ReduceOnly  bool
	// Quantity in units of the base; zero until the fill for orders sized by cash or by position.
	Quantity, FilledQuantity decimal.Decimal
	LimitPrice, StopPrice    decimal.Decimal
	AveragePrice             decimal.Decimal
	Fee                      decimal.Decimal // in quote currency
	Status                   OrderStatus
	// Reason is the code of a rejected, canceled or expired order.
	Reason string
	Tag    string
	// ExchangeID is what an exchange calls the newest order that it has behind this one; "" without one.
	// It is for people who look at the exchange: strategies are not told it.
	ExchangeID string
	// CreatedAt is the close time of the candle that led to the order; FilledAt the open time of the candle of the fill.
	CreatedAt, UpdatedAt, FilledAt Time
}

// Fill is one execution of an Order.
type Fill struct {
	ID      FillID
	OrderID OrderID
	Symbol  Symbol
	Side    Side
	Role    Role
	// Quantity in units of the base, always positive.
	Quantity decimal.Decimal
	// Price after slippage; ReferencePrice before it.
	Price, ReferencePrice decimal.Decimal
	// Slippage is |Price - ReferencePrice| x Quantity, Fee what the venue charges; both in quote currency.
	Slippage, Fee decimal.Decimal
	Liquidity     Liquidity
	// Time is the open time of the candle in which the fill happened.
	Time Time
	// PositionAfter is the signed quantity held after the fill, RealizedPnL the gross profit that it realised.
	PositionAfter, RealizedPnL decimal.Decimal
	// Ambiguous says that the candle does not tell whether it happened this way.
	Ambiguous bool
	Tag       string
}

// Trade is a closed round trip, flat to flat.
type Trade struct {
	ID        TradeID
	Symbol    Symbol
	Direction Direction
	// Quantity is the sum of the opening fills.
	Quantity decimal.Decimal
	// EntryTime and ExitTime are open times of candles; prices are weighted by quantity.
	EntryTime, ExitTime   Time
	EntryPrice, ExitPrice decimal.Decimal
	// GrossPnL - Fees = PnL, in quote currency. Slippage is inside the prices already.
	GrossPnL, Fees, Slippage, PnL decimal.Decimal
	// Return is PnL / opening notional, a fraction.
	Return float64
	// ExitReason is signal, stop_loss, take_profit, end_of_data, liquidation or manual.
	ExitReason string
	// CandlesHeld counts candles of the symbol from entry to exit; the same candle is 0.
	CandlesHeld int
	// MAE <= 0 <= MFE: worst and best excursion in quote currency, before fees.
	MAE, MFE          decimal.Decimal
	EntryTag, ExitTag string
	OrderIDs          []OrderID
	Ambiguous         bool
}

// Position is the signed net quantity of one symbol at average entry. Flat is
// Quantity zero.
type Position struct {
	Symbol    Symbol
	Direction Direction
	// Quantity and MarketValue are signed: negative when short.
	Quantity          decimal.Decimal
	AverageEntryPrice decimal.Decimal
	MarkPrice         decimal.Decimal
	MarketValue       decimal.Decimal
	// UnrealizedPnL and RealizedPnL are gross, Fees beside them; all since the position was opened, in quote currency.
	UnrealizedPnL, RealizedPnL, Fees decimal.Decimal
	// StopLoss and TakeProfit are the prices of the live bracket children; zero if there are none.
	StopLoss, TakeProfit decimal.Decimal
	OpenedAt, UpdatedAt  Time
}

// EquityPoint is the account at the close of one step, in quote currency.
type EquityPoint struct {
	// Time is the close time of the step.
	Time Time
	// Equity = Cash + PositionValue (signed).
	Equity, Cash, PositionValue float64
	// Drawdown is (peak - equity) / peak, a fraction >= 0.
	Drawdown float64
	// Exposure is the sum of notional / equity.
	Exposure float64
}
