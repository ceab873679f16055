package sim

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

func mustLedger(t *testing.T, cash string, symbols int) *ledger {
	t.Helper()
	l, err := newLedger(decimal.MustParse(cash), symbols)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestMoneyUnit(t *testing.T) {
	for cash, scale := range map[string]int{
		"1": 10, "0.5": 10, "99999": 10, "10000": 10, "100000": 9, "1000000": 8, "12345678901234": 1,
		"123456789012345": 0, "1234567890123456": 0,
	} {
		if got := MoneyScale(decimal.MustParse(cash)); got != scale {
			t.Errorf("cash %s: %d decimals, want %d", cash, got, scale)
		}
	}
}

func TestInitialCashIsRoundedToTheUnit(t *testing.T) {
	if l := mustLedger(t, "10000.00000000005", 1); l.cash.String() != "10000.0000000000" {
		t.Error(l.cash) // half-even
	}
	for _, bad := range []string{"0", "-1", "0.00000000001"} {
		if _, err := newLedger(decimal.MustParse(bad), 1); err == nil ||
			!strings.Contains(err.Error(), "initial_cash") {
			t.Errorf("cash %s: %v", bad, err)
		}
	}
}

func (l *ledger) balance() dec {
	left, right := l.cash, l.initial
	var sum adder
	left = sum.add(left, l.fees)
	for i := range l.books {
		left, right = sum.add(left, l.books[i].cost), sum.add(right, l.books[i].realised)
	}
	return sum.sub(left, right)
}

// TestIdentityOfBooks: cash + costs + fees = initial cash + realised after every
// fill, to the last digit, whatever the sequence.
func TestIdentityOfBooks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, cash := range []string{"10000", "123456.78", "7", "5000000000"} {
		l := mustLedger(t, cash, 3)
		rate := decimal.MustParse("0.00075")
		for range 5000 {
			sym := r.IntN(3)
			price, _ := Decimal(float64(1+r.IntN(1_000_000)) / 997)
			q, _ := fromCoef(false, r.Uint64N(1_000_000)+1, 8)
			b := &l.books[sym]
			reduce := !b.quantity.IsZero() && r.IntN(2) == 0
			if reduce && (r.IntN(3) == 0 || q.Cmp(b.quantity.Abs()) > 0) {
				q = b.quantity.Abs()
			}
			n, f, err := l.costOf(q, price, rate)
			if err != nil {
				t.Fatal(err)
			}
			if reduce {
				_, err = l.reduce(sym, q, n, f)
			} else {
				side := market.Side(r.IntN(2))
				if !b.quantity.IsZero() {
					side = market.Buy
					if b.quantity.IsNeg() {
						side = market.Sell
					}
				}
				err = l.open(sym, side, q, n, f)
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := l.balance(); !d.IsZero() {
				t.Fatalf("off by %s", d)
			}
			if b.quantity.IsZero() && !b.cost.IsZero() {
				t.Fatalf("flat with a cost of %s", b.cost)
			}
		}
	}
}

func TestLedgerOverflow(t *testing.T) {
	l := mustLedger(t, "10000", 1) // 10 decimals, amounts below 10^9
	n := decimal.MustParse("999999999")
	if err := l.open(0, market.Sell, decOne, n, dec{}); !errors.Is(err, errRange) {
		t.Errorf("cash of 10^9 and more: %v", err)
	}
	l = mustLedger(t, "10000", 1)
	if _, err := mulRound(decimal.MustParse("10000"), decimal.MustParse("100000"), l.scale); !errors.Is(err,
		errRange) {
		t.Errorf("a notional of 10^9: %v", err)
	}
	l = mustLedger(t, "99999", 1)
	if err := l.open(0, market.Sell, decOne, decimal.MustParse("999900000"), dec{}); err != nil {
		t.Errorf("cash of 10^9 - 1: %v", err)
	}
	// In between the cash has too many digits to be exact.
	l = mustLedger(t, "10000.0000000001", 1)
	if err := l.open(0, market.Sell, decOne, n, n); err == nil {
		t.Errorf("cash %s", l.cash)
	}
}

func TestOverflowEndsTheRun(t *testing.T) {
	o, err := ResolveOptions(nil, DefaultFees())
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEngine(Config{Symbols: []market.Symbol{"A/B"}, InitialCash: decimal.MustNew(10000, 0),
		Options: o}, nil)
	if err != nil {
		t.Fatal(err)
	}
	step := func(price float64) error {
		return e.Match(&Batch{CloseTime: e.venue.now + 1, Closed: []bool{true}, Candles: []market.Candle{
			{OpenTime: e.venue.now, CloseTime: e.venue.now + 1, Open: price, High: price, Low: price,
				Close: price},
		}})
	}
	if err := step(1); err != nil {
		t.Fatal(err)
	}
	if err := e.Accept(
		[]market.Intent{{Size: market.Size{Kind: market.SizeCashFraction, Value: 1}}}); err != nil {
		t.Fatal(err)
	}
	if err := step(1); err != nil {
		t.Fatal(err)
	}
	if err := e.Accept([]market.Intent{{Action: market.Close}}); err != nil {
		t.Fatal(err)
	}
	var overflow *LedgerError
	if err = step(200_000); !errors.As(err, &overflow) || overflow.Step != 2 {
		t.Fatalf("a fortune of 2 x 10^9: %v", err)
	}
	if want := "the account has outgrown what the books can hold (10^9 " + e.venue.cfg.Symbols[0].Quote() +
		") at " + e.venue.now.String() +
		": use a smaller initial cash or a fixed stake"; err.Error() != want {
		t.Errorf("%s, want %s", err, want)
	}
	overflow.Outgrown = false
	if !strings.Contains(err.Error(), "an amount does not fit into the books, which hold less than 10^9") ||
		!strings.Contains(err.Error(), "larger quantity_step") {
		t.Error(err)
	}
}

func TestAffordableAgainstBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		l := mustLedger(t, []string{"10000", "5", "100000000000"}[r.IntN(3)], 1)
		budget, _ := fromCoef(false, r.Uint64N(1e8)+1, r.IntN(l.scale+1))
		price, _ := fromCoef(false, r.Uint64N(1e8)+1, r.IntN(8))
		rate, _ := fromCoef(r.IntN(4) == 0, r.Uint64N(100), 4)
		step, _ := fromCoef(false, []uint64{1, 5, 25}[r.IntN(3)], r.IntN(9))
		q, err := l.affordable(budget, price, rate, step)
		if err != nil {
			continue
		}
		unit := bigOf(price)
		gross, _ := decOne.Add(rate)
		unit.Mul(unit, bigOf(gross))
		more, err := q.Add(step)
		if err != nil {
			continue
		}
		cost, next := bigOf(q), bigOf(more)
		if cost.Mul(cost, unit).Cmp(bigOf(budget)) > 0 || next.Mul(next, unit).Cmp(bigOf(budget)) <= 0 {
			t.Fatalf("budget %s at %s, fee %s, step %s: %s", budget, price, rate, step, q)
		}
		sized, err := l.sizeByCash(budget, price, rate, step)
		if err != nil {
			t.Fatalf("budget %s at %s, fee %s, step %s: %v", budget, price, rate, step, err)
		}
		if n, f, err := l.costOf(sized, price, rate); err == nil {
			if total, _ := n.Add(f); total.Cmp(budget) > 0 {
				t.Fatalf("budget %s at %s, fee %s, step %s: %s costs %s", budget, price, rate, step, sized,
					total)
			}
		}
	}
}
