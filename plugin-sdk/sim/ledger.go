package sim

import (
	"fmt"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// LedgerError is an amount that no longer fits into the ledger (DATA_ERROR,
// reason ledger_overflow): prices and quantities are beyond what the chosen
// initial cash leaves room for.
type LedgerError struct {
	Step int64
	// Time is the close of the step. What was being done, and Limit is what no amount may
	// reach, such as 10^9 USDT.
	Time        market.Time
	What, Limit string
	// Outgrown reports whether the account itself has come near the limit.
	Outgrown bool
	Err      error
}

// Error is the message.
func (e *LedgerError) Error() string {
	if e.Outgrown {
		return fmt.Sprintf("the account has outgrown what the books can hold (%s) at %s: use a smaller "+
			"initial cash or a fixed stake",
			e.Limit, e.Time)
	}
	return fmt.Sprintf("an amount does not fit into the books, which hold less than %s, at %s (%s: %v): "+
		"use a smaller initial_cash or a larger quantity_step", e.Limit, e.Time, e.What, e.Err)
}

// Unwrap is the cause.
func (e *LedgerError) Unwrap() error { return e.Err }

// ledger keeps exact books. For every symbol a signed quantity, a signed cost and
// the realised gross profit; always cash + costs + fees = initial cash + realised.
type ledger struct {
	scale   int // decimals of the money unit
	initial dec
	cash    dec
	fees    dec
	books   []book
	cashF   float64 // cached view
	scratch scratch
}

// book is the ledger of one symbol.
type book struct {
	quantity, cost, realised dec
	quantityF, entryF        float64 // cached views
}

// MoneyScale returns the number of decimals of the money unit, in a backtest and in live books: clamp(15 -
// integer digits of the initial cash, 0, 10).
func MoneyScale(initialCash dec) int {
	digits := initialCash.Trunc(0).Prec()
	return min(max(priceDigits-digits, 0), 10)
}

func newLedger(initialCash dec, symbols int) (*ledger, error) {
	scale := MoneyScale(initialCash)
	cash := initialCash.Round(scale)
	if !cash.IsPos() {
		return nil, fmt.Errorf("initial_cash must be above 0, got %s", initialCash)
	}
	l := &ledger{scale: scale, initial: cash, cash: cash, books: make([]book, symbols)}
	l.cashF = Float(cash)
	return l, nil
}

// save remembers cash, fees and one book; the returned function puts them back.
func (l *ledger) save(sym int) func() {
	cash, fees, cashF, book := l.cash, l.fees, l.cashF, l.books[sym]
	return func() { l.cash, l.fees, l.cashF, l.books[sym] = cash, fees, cashF, book }
}

// free is the cash that an opening fill may spend: cash less twice the cost of
// open shorts, whose proceeds and as much again are held as collateral.
func (l *ledger) free(allowShort bool) (dec, error) {
	free := l.cash
	var sum adder
	for i := range l.books {
		if c := l.books[i].cost; allowShort && c.IsNeg() {
			free = sum.total(sum.total(free, c), c)
		}
	}
	return free, sum.err
}

// open adds to a position (or starts one): n is the notional, f the fee.
func (l *ledger) open(sym int, side market.Side, q, n, f dec) error {
	b := &l.books[sym]
	sum := adder{}
	if side == market.Buy {
		b.quantity, b.cost = sum.add(b.quantity, q), sum.add(b.cost, n)
		l.cash = sum.sub(sum.sub(l.cash, n), f)
	} else {
		b.quantity, b.cost = sum.sub(b.quantity, q), sum.sub(b.cost, n)
		l.cash = sum.sub(sum.add(l.cash, n), f)
	}
	return l.settle(b, f, &sum)
}

// reduce takes q (at most the whole) off a position and returns the gross profit.
func (l *ledger) reduce(sym int, q, n, f dec) (gross dec, err error) {
	b := &l.books[sym]
	sum := adder{}
	held := b.quantity.Abs()
	cost := b.cost
	if q.Cmp(held) != 0 {
		if cost, err = proportion(b.cost, q, held); err != nil {
			return gross, err
		}
	}
	if b.quantity.IsPos() {
		gross = sum.sub(n, cost)
		b.quantity = sum.sub(b.quantity, q)
		l.cash = sum.sub(sum.add(l.cash, n), f)
	} else {
		gross = sum.sub(sum.sub(dec{}, n), cost)
		b.quantity = sum.add(b.quantity, q)
		l.cash = sum.sub(sum.sub(l.cash, n), f)
	}
	b.cost = sum.sub(b.cost, cost)
	b.realised = sum.add(b.realised, gross)
	return gross, l.settle(b, f, &sum)
}

// settle books the fee, refreshes the cached views and checks the bounds.
func (l *ledger) settle(b *book, fee dec, sum *adder) error {
	l.fees = sum.add(l.fees, fee)
	if sum.err != nil {
		return sum.err
	}
	for _, d := range [...]dec{l.cash, l.fees, b.cost, b.realised} {
		if d.Scale() > l.scale {
			return fmt.Errorf("%w: %s has more than %d decimals", errRange, d, l.scale)
		}
		if digits := d.Trunc(0).Prec(); digits > 19-l.scale {
			return fmt.Errorf("%w: %s", errRange, d)
		}
	}
	l.cashF, b.quantityF, b.entryF = Float(l.cash), Float(b.quantity), 0
	if !b.quantity.IsZero() {
		b.entryF = Float(b.cost) / b.quantityF
	}
	return nil
}

// sizeByCash is floor(budget / (price x (1 + fee)) / step) x step, exactly. If
// rounding makes cost and fee exceed the budget it is taken once more with the
// budget less two money units.
func (l *ledger) sizeByCash(budget, price, feeRate, step dec) (dec, error) {
	q, err := l.affordable(budget, price, feeRate, step)
	if err != nil || q.IsZero() {
		return q, err
	}
	n, f, err := l.costOf(q, price, feeRate)
	if err != nil {
		return dec{}, err
	}
	total, err := n.Add(f)
	if err != nil || total.Cmp(budget) <= 0 {
		return q, err
	}
	var sum adder
	budget = sum.keep(budget.Sub(sum.keep(fromCoef(false, 2, l.scale))))
	if sum.err != nil {
		return dec{}, sum.err
	}
	return l.affordable(budget, price, feeRate, step)
}

// costOf is the notional of a fill and its fee, each rounded once.
func (l *ledger) costOf(q, price, feeRate dec) (n, f dec, err error) {
	var sum adder
	n = sum.keep(mulRound(q, price, l.scale))
	f = sum.keep(mulRound(n, feeRate, l.scale))
	return n, f, sum.err
}

func (l *ledger) affordable(budget, price, feeRate, step dec) (dec, error) {
	if !budget.IsPos() {
		return dec{}, nil
	}
	gross, err := decOne.Add(feeRate)
	if err != nil {
		return dec{}, err
	}
	steps, err := l.scratch.quotient([]dec{budget}, []dec{price, gross, step})
	if err != nil {
		return dec{}, err
	}
	return mulRound(steps, step, step.Scale())
}

// adder sums decimals and keeps the first error, so that a chain reads as
// arithmetic. Sums are exact: one that would lose a digit is an error.
type adder struct{ err error }

// keep is the result of any other operation: sum.keep(mulRound(x, y, scale)).
func (a *adder) keep(z dec, err error) dec {
	if a.err == nil {
		a.err = err
	}
	return z
}

func (a *adder) add(x, y dec) dec { return a.keep(x.AddExact(y, max(x.Scale(), y.Scale()))) }

func (a *adder) sub(x, y dec) dec { return a.add(x, y.Neg()) }

// total is a sum that is reported and no balance: beyond 19 digits it is rounded.
func (a *adder) total(x, y dec) dec { return a.keep(x.Add(y)) }

// RoundCash rounds initial cash to the money unit that its size calls for; the
// result may be 0, which no run can start with.
func RoundCash(cash dec) dec { return cash.Round(MoneyScale(cash)) }

// InitialCash is the initial cash rounded to the money unit.
func (e *Engine) InitialCash() decimal.Decimal { return e.venue.ledger.initial }

// CashExact is the cash in the books.
func (e *Engine) CashExact() decimal.Decimal { return e.venue.ledger.cash }

// FinalValue is cash plus every position at its last close, rounded to the money unit.
func (e *Engine) FinalValue() (decimal.Decimal, error) { return e.venue.worth() }

// worth is cash plus every position at its last close.
func (v *venue) worth() (dec, error) {
	var sum adder
	total := v.ledger.cash
	for i := range v.symbols {
		value, _ := v.marketValue(i, &sum)
		total = sum.total(total, value)
	}
	return total, sum.err
}

// marketValue is the signed value of a position at its last close, and that close.
func (v *venue) marketValue(i int, sum *adder) (value, mark dec) {
	b := &v.ledger.books[i]
	if b.quantity.IsZero() {
		return value, mark
	}
	mark = sum.keep(Decimal(v.symbols[i].candle.Close))
	return sum.keep(mulRound(b.quantity, mark, v.ledger.scale)), mark
}

// Positions are the open positions in request order.
func (e *Engine) Positions() ([]market.Position, error) {
	var out []market.Position
	var sum adder
	for i := range e.venue.symbols {
		b, t := &e.venue.ledger.books[i], &e.venue.symbols[i].trade
		if b.quantity.IsZero() {
			continue
		}
		value, mark := e.venue.marketValue(i, &sum)
		entry := t.entryPrice
		if t.mixedEntry {
			entry = sum.keep(average(b.cost.Abs(), b.quantity.Abs()))
		}
		p := market.Position{
			Symbol: e.venue.cfg.Symbols[i], Direction: t.direction, Quantity: b.quantity,
			AverageEntryPrice: entry,
			MarkPrice:         mark, MarketValue: value, UnrealizedPnL: sum.total(value, b.cost.Neg()),
			RealizedPnL: t.gross, Fees: t.fees,
			OpenedAt: t.entryTime, UpdatedAt: e.venue.now,
		}
		for _, o := range e.venue.live {
			if o.sym != i || o.done || !o.isChild() {
				continue
			}
			if o.Role == market.RoleStopLoss {
				p.StopLoss = o.StopPrice
			} else {
				p.TakeProfit = o.LimitPrice
			}
		}
		out = append(out, p)
	}
	if sum.err != nil {
		return nil, sum.err
	}
	return out, nil
}

// CheckBalance verifies the identity of the books: cash + costs + fees = initial
// cash + realised, to the last digit.
func (e *Engine) CheckBalance() error {
	l := e.venue.ledger
	var sum adder
	left, right := sum.add(l.cash, l.fees), l.initial
	for i := range l.books {
		left, right = sum.add(left, l.books[i].cost), sum.add(right, l.books[i].realised)
	}
	if sum.err == nil && left.Cmp(right) != 0 {
		return e.venue.ledgerError("the books do not balance", errRange)
	}
	return sum.err
}
