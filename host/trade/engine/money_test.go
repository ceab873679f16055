package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest/testvenue"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// moves changes a balance of the account by hand; told says whether the venue names it.
func (b *bench) moves(asset, amount string, told bool) {
	b.venue.mu.Lock()
	defer b.venue.mu.Unlock()
	switch asset {
	case "USDT":
		b.venue.cash = order.Plus(b.venue.cash, d(amount))
	case "BTC":
		b.venue.coins = order.Plus(b.venue.coins, d(amount))
	}
	if told {
		b.venue.tell(
			exchange.AccountEvent{Transfer: &exchange.Transfer{Asset: asset, Amount: d(amount),
				Time: market.FromTime(time.Now())}})
	}
}

// rows counts entries of the run's journal.
func (b *bench) rows(kind string) (n int) {
	err := journal.Each(func(p journal.Page) (journal.Rows[journal.Entry], error) {
		return b.book.Log(b.t.Context(), b.engine.cfg.RunID, p, kind)
	}, func(journal.Entry) error {
		n++
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// TestNamedTransfers: a deposit is the operator's, a withdrawal is first what was his; what the run loses by
// one is no loss. Neither is drift.
func TestNamedTransfers(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.at(1, buy(1))
		b.start()
		b.sleep(4 * minute)
		ledger := b.engine.books.manager.Ledger()
		cash := ledger.Cash()
		b.moves("USDT", "500", true)
		b.moves("BTC", "2", true)
		b.sleep(3 * minute)
		if b.phase() != Trading || ledger.Cash().Cmp(cash) != 0 {
			t.Errorf("%v, cash %s, was %s", b.phases, ledger.Cash(), cash)
		}
		b.moves("USDT", "-5500", true)
		b.sleep(3 * minute)
		if b.phase() != Trading || order.Minus(cash, ledger.Cash()).Cmp(d("5000")) != 0 ||
			ledger.Initial().Cmp(d("5000")) != 0 {
			t.Errorf("%v, cash %s, was %s; initial %s", b.phases, ledger.Cash(), cash, ledger.Initial())
		}
		b.wantOpen("all of it is booked", CodeTransfer, CodeTransfer)
		if n := b.rows(LogTransfer); n != 3 {
			t.Errorf("%d rows", n)
		}
		if err := ledger.Check(); err != nil {
			t.Error(err)
		}
		b.check(b.stop())
		back, err := ReadBack(t.Context(), b.book, b.engine.cfg.Run.Info(), 0, nil, b, nil)
		if err != nil || back.CashExact().Cmp(ledger.Cash()) != 0 {
			t.Errorf("read back %v, was %s: %v", back, ledger.Cash(), err)
		}
	})
}

// TestAcknowledgedDrift: what nobody names stops entries until the operator has it booked, or it is undone.
func TestAcknowledgedDrift(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.decide = func(*View) ([]market.Intent, error) { return nil, nil }
		b.start()
		b.sleep(2 * minute)
		wantRefused(t, b.operates(b.engine.AcknowledgeDrift), "no_alarm")
		b.moves("USDT", "500", false)
		b.sleep(3 * minute)
		if b.phase() != Reducing {
			t.Fatalf("%v %v", b.phases, b.warnings)
		}
		b.wantOpen("a difference", CodeBalanceDrift)
		b.moves("USDT", "-500", false)
		b.sleep(3 * minute)
		b.wantOpen("undone")
		b.moves("BTC", "1", false)
		b.moves("USDT", "-100", false)
		b.sleep(3 * minute)
		if text, err := b.engine.AcknowledgeDrift(context.Background()); err != nil ||
			text != "It is booked that the account has 1 BTC more and 100 USDT less than the run's fills "+
				"explain" {
			t.Fatalf("%q %v", text, err)
		}
		b.sleep(3 * minute)
		b.wantOpen("booked")
		if b.phase() != Trading || b.rows(LogTransfer) != 2 ||
			b.engine.books.manager.Ledger().Cash().Cmp(d("9900")) != 0 {
			t.Errorf("%v, %d rows, cash %s", b.phases, b.rows(LogTransfer),
				b.engine.books.manager.Ledger().Cash())
		}
		b.check(b.stop())
	})
}

// TestFeesInAThirdAsset: they are worth something, at the price of their pair, and are owed to the account;
// without a price that is said.
func TestFeesInAThirdAsset(t *testing.T) {
	for _, c := range []struct {
		name, coin     string
		noPair, valued bool
	}{
		{"the venue says in what", "BNB", false, true},
		{"the first fee says it", "", false, true},
		{"there is no pair", "BNB", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				b.venue.bnb, b.venue.feeCoin, b.venue.noPair = d("10"), c.coin, c.noPair
				b.at(1, buy(1))
				b.start()
				b.sleep(6 * minute)
				ledger := b.engine.books.manager.Ledger()
				if err := ledger.Check(); err != nil || b.phase() != Trading || len(b.fills) == 0 {
					t.Fatalf("%v %v %v", err, b.phases, b.fills)
				}
				if c.valued != ledger.Fees().IsPos() || c.valued == ledger.Unvalued("BNB") ||
					ledger.Valued().Cmp(ledger.Fees()) != 0 {
					t.Errorf("fees %s, of them owed %s", ledger.Fees(), ledger.Valued())
				}
				if c.coin != "" && c.valued && !b.fills[0].Fee.IsPos() {
					t.Errorf("%+v", b.fills[0])
				}
				if c.valued {
					b.wantOpen("valued")
				} else {
					b.wantOpen("not valued", CodeFeesNotValued)
				}
				b.check(b.stop())
				back, err := ReadBack(t.Context(), b.book, b.engine.cfg.Run.Info(), 0, nil, b, nil)
				if err != nil || back.CashExact().Cmp(ledger.Cash()) != 0 {
					t.Errorf("read back %s, was %s: %v", back.CashExact(), ledger.Cash(), err)
				}
			})
		})
	}
}

// TestTransfersOverTheWire: a deposit at a venue that speaks Binance's dialect is booked, by what its stream
// says.
func TestTransfersOverTheWire(t *testing.T) {
	r := newRig(t, "transfers", openBook(t))
	defer r.close()
	r.start()
	if !r.trades() {
		t.FailNow()
	}
	r.do(testvenue.Script{Action: "balance", Args: []string{"USDT", "500"}})
	r.do(testvenue.Script{Action: "balance", Args: []string{"USDT", "-1"}})
	r.until(time.Minute, "both transfers", func() bool {
		n := 0
		for _, w := range r.notes().warnings {
			if strings.HasPrefix(w, CodeTransfer+" ") {
				n++
			}
		}
		return n == 2
	})
	if err := r.stop(); !errors.Is(err, errStop) {
		t.Error(err)
	}
	r.check(dec{})
	spare := order.Minus(r.engine.recon.base["USDT"], r.engine.books.manager.Ledger().Initial())
	if spare.Cmp(d("499")) != 0 || len(r.notes().phases) == 0 {
		t.Errorf("%s is the operator's: %+v", spare, r.notes())
	}
}
