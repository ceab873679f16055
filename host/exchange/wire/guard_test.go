package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/wire"
	"github.com/assay-run/assay/host/hosttest/exchangetest"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// guarded returns a fake behind a guard, with a channel that is closed when its lease ended.
func guarded(t *testing.T, f *fake) (exchange.Connection, <-chan struct{}) {
	t.Helper()
	ended := make(chan struct{})
	return wire.Guard(f.connection(), func() { close(ended) }), ended
}

func opened(t *testing.T, conn exchange.Connection, req exchange.OpenRequest) {
	t.Helper()
	if _, err := conn.Open(t.Context(), req); err != nil {
		t.Fatal(err)
	}
}

func submitted(t *testing.T, conn exchange.Connection, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if r, _ := conn.Submit(t.Context(), limitOrder(id)); r.Outcome != exchange.Accepted {
			t.Fatalf("%+v", r)
		}
	}
}

func code(err error) string {
	var answer *exchange.Error
	if errors.As(err, &answer) {
		return answer.Result.VenueCode
	}
	return ""
}

func TestSessionIsOpenedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		conn, _ := guarded(t, f)
		ctx := t.Context()
		if r, _ := conn.Submit(ctx, limitOrder(ourID)); r.Outcome != exchange.NotSent ||
			r.VenueCode != "NOT_OPEN" {
			t.Errorf("before Open: %+v", r)
		}
		f.onOpen = func(exchange.OpenRequest) error { return errors.New("unreachable") }
		if _, err := conn.Open(ctx, openRequest()); err == nil {
			t.Fatal("a failed Open succeeded")
		}
		f.onOpen = nil
		opened(t, conn, openRequest()) // after a failure it may be tried again
		if _, err := conn.Open(ctx, openRequest()); code(err) != "ALREADY_OPEN" || f.opens != 2 {
			t.Errorf("a second Open: %v", err)
		}
		for range 2 {
			if left, err := conn.Close(ctx, false); err != nil || left != nil {
				t.Errorf("%v %v", left, err)
			}
		}
		if len(f.closes) != 1 {
			t.Errorf("closed %d times", len(f.closes))
		}
		if r, _ := conn.Submit(ctx, limitOrder(ourID)); r.Outcome != exchange.NotSent ||
			r.VenueCode != "CLOSED" {
			t.Errorf("after Close: %+v", r)
		}
	})
}

func TestPaperMakesNoKeyedRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		conn, _ := guarded(t, f)
		req := openRequest()
		req.Trading = false
		opened(t, conn, req)
		defer conn.Close(t.Context(), true)
		if r, _ := conn.Submit(t.Context(), limitOrder(ourID)); r.Outcome != exchange.NotSent ||
			r.VenueCode != "NOT_TRADING" {
			t.Errorf("%+v", r)
		}
		if _, err := conn.Balances(t.Context()); code(err) != "NOT_TRADING" {
			t.Errorf("%v", err)
		}
		if _, err := conn.Markets(t.Context()); err != nil {
			t.Error(err)
		}
		if len(f.asked) != 0 {
			t.Errorf("%v", f.asked)
		}
	})
}

// TestSilence: when no beat comes the orders of the run go, and only those.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		conn, ended := guarded(t, f)
		req := openRequest()
		req.LeaseFile, req.Exits = filepath.Join(t.TempDir(), "live", "lease.json"), []string{oldExitID}
		opened(t, conn, req)
		submitted(t, conn, ourID)
		if r, _ := conn.Submit(t.Context(), exit(exitID)); r.Outcome != exchange.Accepted {
			t.Fatal(r)
		}
		for _, id := range []string{otherID, oldExitID} { // of a process that died before
			f.orders[id] = &exchange.Order{ClientOrderID: id, Symbol: testSymbol, Status: exchange.OrderOpen}
		}
		for seq := range int64(20) {
			if n, err := conn.Beat(t.Context(), seq); err != nil || n.OpenOrders != 2 {
				t.Fatalf("%+v %v", n, err)
			}
			time.Sleep(exchange.BeatEvery)
		}
		time.Sleep(7 * time.Second)
		if f.count("cancel") != 0 {
			t.Fatal("cancelled too early")
		}
		begin := time.Now()
		time.Sleep(time.Second + time.Millisecond) // ten seconds since the last beat
		if r, _ := conn.Submit(t.Context(), limitOrder("late")); r.Outcome != exchange.NotSent ||
			f.count("submit late") != 0 {
			t.Errorf("%+v", r)
		}
		if _, err := conn.Beat(t.Context(), 99); err == nil {
			t.Error("a lease that was lost came back")
		}
		<-ended
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("it took %s", took)
		}
		report := readReport(t, req.LeaseFile)
		if report.Reason != wire.ReasonNoBeat || !slices.Equal(report.Cancelled, []string{otherID, ourID}) ||
			len(report.Unconfirmed) != 0 ||
			!slices.Equal(report.Kept, slices.Sorted(slices.Values([]string{exitID, oldExitID}))) {
			t.Errorf("%+v", report)
		}
		if !f.open(exitID) || !f.open(oldExitID) {
			t.Error("an exit went with the lease")
		}
		if !f.open(foreignID) || !f.open("manual") || f.count("cancel asx") != 0 {
			t.Error("an order of somebody else was touched")
		}
		if left, err := conn.Close(t.Context(), true); err != nil || left != nil {
			t.Errorf("%v %v", left, err)
		}
	})
}

// exit returns an order that only reduces a position.
func exit(id string) exchange.OrderRequest {
	q := limitOrder(id)
	q.Reduces = true
	return q
}

// TestOnLeaseLoss: the operator decides what is cancelled with the lease.
func TestOnLeaseLoss(t *testing.T) {
	for _, test := range []struct {
		cancels   exchange.LeaseLoss
		cancelled []string
		kept      []string
	}{
		{"", []string{ourID}, []string{exitID}},
		{exchange.CancelEntries, []string{ourID}, []string{exitID}},
		{exchange.CancelAll, slices.Sorted(slices.Values([]string{exitID, ourID})), []string{}},
		{exchange.CancelNone, []string{}, slices.Sorted(slices.Values([]string{exitID, ourID}))},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			conn, ended := guarded(t, f)
			req := openRequest()
			req.LeaseFile, req.OnLeaseLoss = filepath.Join(t.TempDir(), "lease.json"), test.cancels
			opened(t, conn, req)
			submitted(t, conn, ourID)
			_, _ = conn.Submit(t.Context(), exit(exitID))
			<-ended
			if r := readReport(t, req.LeaseFile); !slices.Equal(r.Cancelled, test.cancelled) ||
				!slices.Equal(r.Kept, test.kept) {
				t.Errorf("%q: %+v", test.cancels, r)
			}
		})
	}
}

func readReport(t *testing.T, path string) (r wire.LeaseReport) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "null") {
		t.Errorf("%s", text)
	}
	return r
}

// TestSweepWithoutAnswers: what the venue does not confirm within 20 s is said.
func TestSweepWithoutAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		conn, ended := guarded(t, f)
		req := openRequest()
		req.LeaseFile = filepath.Join(t.TempDir(), "lease.json")
		f.onCancel = func(exchange.OrderRef) (exchange.Result, exchange.Order) {
			return exchange.Result{}, exchange.Order{}
		}
		f.onQuery = func(ref exchange.OrderRef) (exchange.Result, exchange.Order) {
			if ref.ClientOrderID == ourID {
				return exchange.Result{Outcome: exchange.Unknown}, exchange.Order{}
			}
			return accepted(),
				exchange.Order{ClientOrderID: otherID, Symbol: testSymbol, Status: exchange.OrderFilled}
		}
		opened(t, conn, req)
		submitted(t, conn, ourID, otherID)
		<-ended
		report := readReport(t, req.LeaseFile)
		if !slices.Equal(report.Unconfirmed, []string{ourID}) || len(report.Cancelled) != 0 {
			t.Errorf("%+v", report)
		}
		if n := f.count("cancel " + ourID); n < 5 || n > 12 {
			t.Errorf("%d cancels", n)
		}
	})
}

// TestSweepOfUnknownOrder: one NOT_FOUND right after an ambiguous Submit is no absence.
func TestSweepOfUnknownOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		conn, _ := guarded(t, f)
		f.onSubmit = func(context.Context, exchange.OrderRequest) (exchange.Result, exchange.Order) {
			return exchange.Result{Outcome: exchange.Unknown}, exchange.Order{}
		}
		opened(t, conn, openRequest())
		if r, _ := conn.Submit(t.Context(), limitOrder(ourID)); r.Outcome != exchange.Unknown {
			t.Fatalf("%+v", r)
		}
		begin := time.Now()
		time.AfterFunc(6*time.Second, func() { f.rest(limitOrder(ourID)) }) // it arrives after all
		left, err := conn.Close(t.Context(), true)
		if err != nil || left != nil || f.open(ourID) {
			t.Errorf("%v %v: open %v", left, err, f.open(ourID))
		}
		if took := time.Since(begin); took < 6*time.Second || took > 10*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// TestDefiniteAbsence: three times not found, the last ten seconds after sending.
func TestDefiniteAbsence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		conn, _ := guarded(t, f)
		f.onSubmit = func(context.Context, exchange.OrderRequest) (exchange.Result, exchange.Order) {
			return exchange.Result{Outcome: exchange.Unknown}, exchange.Order{}
		}
		opened(t, conn, openRequest())
		conn.Submit(t.Context(), limitOrder(ourID))
		begin := time.Now()
		for range 4 {
			_, _ = conn.Beat(t.Context(), 1)
			time.Sleep(time.Second)
		}
		left, err := conn.Close(t.Context(), true)
		if took := time.Since(begin); err != nil || left != nil || took < 10*time.Second ||
			took > 12*time.Second {
			t.Errorf("%v %v after %s", left, err, took)
		}
	})
}

// cancelsHang leaves cancels without an answer until the function is called; then they succeed.
func (f *fake) cancelsHang() (answers func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	block := true
	f.onCancel = func(exchange.OrderRef) (exchange.Result, exchange.Order) {
		if block {
			return exchange.Result{}, exchange.Order{}
		}
		f.orders[ourID].Status = exchange.OrderCanceled
		return accepted(), *f.orders[ourID]
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		block = false
	}
}

// TestHostDiesDuringClose: the sweep goes on without it.
func TestHostDiesDuringClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		conn, ended := guarded(t, f)
		opened(t, conn, openRequest())
		submitted(t, conn, ourID)
		answers := f.cancelsHang()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if left, err := conn.Close(ctx, true); err == nil || !slices.Equal(left, []string{ourID}) {
			t.Errorf("%v %v", left, err)
		}
		answers()
		<-ended
		if f.open(ourID) {
			t.Error("the order was left behind")
		}
	})
}

// TestCloseDuringTheSweep: a session is not over while the orders of a lease that was lost are being
// cancelled: whoever closes it must not end the process.
func TestCloseDuringTheSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		conn, ended := guarded(t, f)
		opened(t, conn, openRequest())
		submitted(t, conn, ourID)
		answers := f.cancelsHang()
		time.Sleep(wire.DefaultLeaseTTL + 5*time.Second)
		if _, err := conn.Close(t.Context(), true); code(err) != "LEASE_LOST" {
			t.Errorf("%v", err)
		}
		answers()
		<-ended
		if left, err := conn.Close(t.Context(), true); err != nil || left != nil || f.open(ourID) {
			t.Errorf("%v %v, open %v", left, err, f.open(ourID))
		}
	})
}

// TestGuardRedacts: neither errors nor results nor events hold a credential.
func TestGuardRedacts(t *testing.T) {
	const key = "Kq7+xyZz/e9"
	f := newFake()
	f.onOpen = func(q exchange.OpenRequest) error { return errors.New("bad key " + q.Config.APIKey.Reveal()) }
	conn, _ := guarded(t, f)
	req := openRequest()
	req.Config.APIKey = exchange.NewSecret(key)
	if _, err := conn.Open(t.Context(), req); err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("%v", err)
	}
	f.onOpen = nil
	opened(t, conn, req)
	defer conn.Close(t.Context(), false)
	f.onSubmit = func(context.Context, exchange.OrderRequest) (exchange.Result, exchange.Order) {
		return exchange.Result{Outcome: exchange.Rejected, Message: "no " + key}, exchange.Order{Reason: key}
	}
	if r, o := conn.Submit(t.Context(), limitOrder(ourID)); strings.Contains(r.Message+o.Reason, key) ||
		r.Outcome != exchange.Rejected {
		t.Errorf("%+v %+v", r, o)
	}
	f.account = func(_ context.Context, on func(exchange.AccountEvent)) error {
		on(exchange.AccountEvent{State: exchange.Reconnecting, Reason: "cut: " + key})
		return errors.New(key)
	}
	err := conn.StreamAccount(t.Context(), func(e exchange.AccountEvent) {
		if strings.Contains(e.Reason, key) {
			t.Errorf("%+v", e)
		}
	})
	if err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("%v", err)
	}
}

// TestOverTheWire: the host receives what the connector reports, over gRPC.
func TestOverTheWire(t *testing.T) {
	f := newFake()
	conn := exchangetest.Over(t, f.connection())
	ctx := t.Context()
	if d, err := conn.Describe(ctx); err != nil || d.ID != "fake" || d.Symbols != nil {
		t.Errorf("%+v %v", d, err)
	}
	opened(t, conn, openRequest())
	if _, err := conn.Open(ctx, openRequest()); code(err) != "ALREADY_OPEN" {
		t.Errorf("%v", err)
	}
	submitted(t, conn, ourID)
	pair := exchange.PairRequest{ListID: "l", LimitID: "x1", StopID: "x2", Symbol: testSymbol,
		Side: market.Sell, Quantity: one, LimitPrice: one, StopPrice: one}
	if r, legs := conn.SubmitPair(ctx, pair); r.Outcome != exchange.Accepted ||
		legs[0].ClientOrderID != "x1" || legs[1].ClientOrderID != "x2" {
		t.Errorf("%+v %+v", r, legs)
	}
	if a, err := conn.Beat(ctx, 1); err != nil || a != (exchange.Ack{OpenOrders: 3}) {
		t.Errorf("%+v %v", a, err)
	}
	f.mu.Lock()
	f.venueAt = 1_700_000_000_000
	f.mu.Unlock()
	if a, err := conn.Beat(ctx, 2); err != nil ||
		a != (exchange.Ack{OpenOrders: 3, VenueTime: 1_700_000_000_000}) {
		t.Errorf("%+v %v", a, err)
	}
	if r, o := conn.Query(ctx, ref(ourID)); r.Outcome != exchange.Accepted || o.ClientOrderID != ourID {
		t.Errorf("%+v %+v", r, o)
	}
	if r, _ := conn.Query(ctx, ref("nobody")); r.Outcome != exchange.NotFound || r.VenueCode != "-2013" ||
		r.HTTPStatus != 400 {
		t.Errorf("%+v", r)
	}
	if list, err := conn.Markets(ctx); err != nil || len(list) != 1 {
		t.Errorf("%v %v", list, err)
	}
	if list, err := conn.Candles(ctx,
		exchange.CandleQuery{Symbol: testSymbol, To: 1, Limit: 1000}); err != nil || len(list) != 1 {
		t.Errorf("%v %v", list, err)
	}
	if list, err := conn.OpenOrders(ctx); err != nil || len(list) != 5 {
		t.Errorf("%v %v", list, err)
	}
	if page, err := conn.Fills(ctx, testSymbol, 0); err != nil || !page.Complete || len(page.Fills) != 1 {
		t.Errorf("%v %v", page, err)
	}
	if list, err := conn.Balances(ctx); err != nil || len(list) != 1 {
		t.Errorf("%v %v", list, err)
	}
	if err := conn.ArmDeadMan(ctx, time.Minute); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	f.candles = func(_ context.Context, on func(exchange.CandleEvent)) error {
		on(exchange.CandleEvent{State: exchange.Connected})
		return exchange.ErrEnded
	}
	if err := conn.StreamCandles(ctx, func(exchange.CandleEvent) {}); !errors.Is(err, exchange.ErrEnded) {
		t.Errorf("%v", err)
	}
	if left, err := conn.Close(ctx, true); err != nil || left != nil || f.open(ourID) || f.open("x1") ||
		!f.open("manual") {
		t.Errorf("%v %v", left, err)
	}
}

// TestOtherSymbols: the answer to a question about an order on a symbol that is none of the session's may be
// about it, which is how orders of earlier runs are settled; what was not asked about stays a lie.
func TestOtherSymbols(t *testing.T) {
	const other, third = market.Symbol("ETH/USDT"), market.Symbol("SOL/USDT")
	f := newFake()
	conn := exchangetest.Over(t, f.connection())
	opened(t, conn, openRequest())
	earlier := exchange.OrderRef{ClientOrderID: foreignID, Symbol: other}
	f.orders[foreignID].Symbol = other
	if r, o := conn.Query(t.Context(), earlier); r.Outcome != exchange.Accepted || o.Symbol != other {
		t.Errorf("%+v %+v", r, o)
	}
	if r, o := conn.Cancel(t.Context(), earlier); r.Outcome != exchange.Accepted ||
		o.Status != exchange.OrderCanceled {
		t.Errorf("%+v %+v", r, o)
	}
	if page, err := conn.Fills(t.Context(), other, 0); err != nil || len(page.Fills) != 1 ||
		page.Fills[0].Symbol != other {
		t.Errorf("%+v %v", page, err)
	}
	f.orders[foreignID].Symbol = third
	if r, _ := conn.Query(t.Context(), earlier); r.Outcome != exchange.Unknown {
		t.Errorf("%+v", r)
	}
	if _, err := conn.Balances(t.Context()); !errors.As(err, new(*wire.ProtocolError)) {
		t.Errorf("an answer about a third symbol is no fault: %v", err)
	}
	_, _ = conn.Close(t.Context(), false) // nothing that comes back is believed any more
}

// TestAccountStream: a stream that begins with anything but connected is a broken one.
func TestAccountStream(t *testing.T) {
	f := newFake()
	conn := exchangetest.Over(t, f.connection())
	calls := make(chan int, 2)
	calls <- 1
	calls <- 2
	f.account = func(_ context.Context, on func(exchange.AccountEvent)) error {
		if <-calls == 1 {
			return &exchange.Error{Result: exchange.Result{Outcome: exchange.AuthFailed, VenueCode: "-2015"}}
		}
		on(exchange.AccountEvent{Balance: &exchange.Balance{Asset: "USDT"}})
		return nil
	}
	opened(t, conn, openRequest())
	defer conn.Close(t.Context(), false)
	var answer *exchange.Error
	if err := conn.StreamAccount(t.Context(), nil); !errors.As(err, &answer) ||
		answer.Result.Outcome != exchange.AuthFailed {
		t.Errorf("%v", err)
	}
	var broke *wire.ProtocolError
	if err := conn.StreamAccount(t.Context(), func(exchange.AccountEvent) {}); !errors.As(err, &broke) ||
		broke.Field != "event" {
		t.Errorf("%v", err)
	}
	// After one lie nothing is believed.
	if r, _ := conn.Query(t.Context(), ref("manual")); r.Outcome != exchange.Unknown {
		t.Errorf("%+v", r)
	}
}

// TestUnknownByDefault: a connector that fails in any way has not answered.
func TestUnknownByDefault(t *testing.T) {
	f := newFake()
	conn := exchangetest.Over(t, f.connection())
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	f.onSubmit = func(_ context.Context, q exchange.OrderRequest) (exchange.Result, exchange.Order) {
		switch q.ClientOrderID {
		case ourID:
			// not its own deadline, which may be a moment earlier: that answer would be in time
			<-short.Done()
			return exchange.Result{Outcome: exchange.Rejected}, exchange.Order{}
		case otherID:
			return exchange.Result{Outcome: "FINE"}, exchange.Order{}
		}
		return accepted(), exchange.Order{} // without its order
	}
	opened(t, conn, openRequest())
	defer conn.Close(t.Context(), false)
	for id, ctx := range map[string]context.Context{ourID: short, otherID: t.Context(),
		"third": t.Context()} {
		if r, _ := conn.Submit(ctx, limitOrder(id)); r.Outcome != exchange.Unknown {
			t.Errorf("%s: %+v", id, r)
		}
	}
}
