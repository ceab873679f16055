package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

var cancelCards = []card{
	{"open", cancelOpen},
	{"filled", cancelFilled},
	{"unknown", cancelUnknown},
	{"ambiguous cancel", ambiguousCancel},
	{"query after restart", queryAfterRestart},
	{"definite not-found", definiteNotFound},
	{"open orders complete", openOrdersComplete},
	{"fills attributed", fillsAttributed},
}

var accountCards = []card{
	{"partial fills", partialFills},
	{"fee assets", feeAssets},
	{"refused subscription", refusedSubscription},
	{"reconnect asks resync", reconnectAsksResync},
	{"manual cancel", manualCancel},
	{"lease loss cancels only this run", leaseLoss},
	{"no secret in output", noSecret},
}

func cancelOpen(x *examiner) {
	s := x.open()
	q := s.limit(80)
	s.submit(q)
	if r, o := s.Cancel(x.Context(), ref(q)); r.Outcome != exchange.Accepted ||
		o.Status != exchange.OrderCanceled {
		x.Errorf("Cancel: %+v %+v", r, o)
	}
	s.reaches(ref(q), exchange.OrderCanceled)
	if slices.ContainsFunc(s.openOrders(), func(o exchange.Order) bool {
		return o.ClientOrderID == q.ClientOrderID
	}) {
		x.Error("a canceled order is listed as open")
	}
	s.until("the cancel on the stream", func() bool {
		return s.seen.hasOrder(q.ClientOrderID, exchange.OrderCanceled)
	})
}

func cancelFilled(x *examiner) {
	s := x.open()
	q := s.market()
	s.submit(q)
	s.filled(q)
	if r, _ := s.Cancel(x.Context(), ref(q)); r.Outcome != exchange.NotOpen {
		x.Errorf("Cancel of a filled order: %+v", r)
	}
	if o := s.query(ref(q)); o.Status != exchange.OrderFilled {
		x.Errorf("a filled order became %s", o.Status)
	}
}

func cancelUnknown(x *examiner) {
	s := x.open()
	if r, _ := s.Cancel(x.Context(),
		exchange.OrderRef{ClientOrderID: s.id(), Symbol: s.symbol()}); r.Outcome != exchange.NotOpen &&
		r.Outcome != exchange.NotFound {
		x.Errorf("Cancel of no order: %+v", r)
	}
}

func ambiguousCancel(x *examiner) {
	s := x.open()
	for action, want := range map[string]exchange.OrderStatus{CutBefore: exchange.OrderOpen,
		CutAfter: exchange.OrderCanceled} {
		q := s.limit(80)
		s.submit(q)
		x.fault(FaultCancel, action)
		if r, _ := s.Cancel(x.Context(), ref(q)); r.Outcome != exchange.Unknown {
			x.Errorf("%s: %+v", action, r)
		}
		if o := s.query(ref(q)); o.Status != want {
			x.Errorf("%s: the order is %s, want %s", action, o.Status, want)
		}
	}
}

func queryAfterRestart(x *examiner) {
	x.fault(FaultRestart)
	s := x.open()
	q := s.limit(80)
	first := s.submit(q)
	if _, err := s.Close(x.Context(), false); err != nil {
		x.Fatal(err)
	}
	if o := x.open().query(ref(q)); o.VenueOrderID != first.VenueOrderID || o.Status != exchange.OrderOpen {
		x.Errorf("before %+v, after %+v", first, o)
	}
}

func definiteNotFound(x *examiner) {
	s := x.open()
	nobody := exchange.OrderRef{ClientOrderID: s.id(), Symbol: s.symbol()}
	s.absent(nobody)
	for _, action := range []string{CutBefore, Status500, HTML, Empty} {
		x.fault(FaultQuery, action)
		if r, _ := s.Query(x.Context(), nobody); r.Outcome != exchange.Unknown {
			x.Errorf("%s is no word about the order: %+v", action, r)
		}
	}
	s.absent(nobody)
}

func openOrdersComplete(x *examiner) {
	s := x.open()
	want := map[string]bool{}
	for _, symbol := range s.req.Symbols {
		for range 2 {
			q := exchange.OrderRequest{
				ClientOrderID: s.id(), Symbol: symbol, Side: market.Buy, Type: market.Limit,
				Quantity: s.worth(symbol), LimitPrice: s.price(symbol, 80),
			}
			s.submit(q)
			want[q.ClientOrderID] = true
		}
	}
	foreign := x.can(FaultForeignOrder, string(s.symbol()))
	others := 0
	for _, o := range s.openOrders() {
		if !want[o.ClientOrderID] {
			others++
		}
		if o.Status != exchange.OrderOpen && o.Status != exchange.OrderPartiallyFilled {
			x.Errorf("an open order that is %s", o.Status)
		}
		delete(want, o.ClientOrderID)
	}
	if len(want) > 0 || foreign && others != 1 {
		x.Errorf("missing %v, %d of somebody else", want, others)
	}
}

func fillsAttributed(x *examiner) {
	s := x.open()
	q := s.market()
	s.submit(q)
	s.filled(q)
	foreign := x.can(FaultForeignFill, string(q.Symbol))
	page, err := s.Fills(x.Context(), q.Symbol, 0)
	if err != nil || !page.Complete {
		x.Fatalf("Fills: %v, complete %v", err, page.Complete)
	}
	seen, others := map[string]bool{}, 0
	for _, f := range page.Fills {
		if f.TradeID == "" || seen[f.TradeID] {
			x.Errorf("trade id %q twice or empty", f.TradeID)
		}
		seen[f.TradeID] = true
		switch f.ClientOrderID {
		case "":
			others++
		case q.ClientOrderID:
		default:
			x.Errorf("a fill of %q", f.ClientOrderID)
		}
	}
	if foreign && others != 1 {
		x.Errorf("%d fills of somebody else, want 1", others)
	}
	later, err := s.Fills(x.Context(), q.Symbol, s.now().Add(time.Hour))
	if err != nil || len(later.Fills) != 0 {
		x.Errorf("fills since later: %v %v", later.Fills, err)
	}
}

func partialFills(x *examiner) {
	s := x.open()
	x.fault(FaultSplit, "3")
	q := s.limit(110)
	base, quote := q.Symbol.Base(), q.Symbol.Quote()
	want := map[string]decimal.Decimal{base: s.free(base), quote: s.free(quote)}
	s.submit(q)
	s.filled(q)
	list := s.fills(ref(q))
	if len(list) != 3 {
		x.Errorf("%d fills, want 3", len(list))
	}
	for _, f := range list {
		want[base] = sum(s, want[base], f.Quantity)
		want[quote] = sum(s, want[quote], product(s, f.Price, f.Quantity).Neg())
		want[f.FeeAsset] = sum(s, want[f.FeeAsset], f.Fee.Neg())
	}
	s.until("the balances that the fills make", func() bool {
		return s.free(base).Cmp(want[base]) == 0 && s.free(quote).Cmp(want[quote]) == 0
	})
	s.until("the fills on the stream", func() bool {
		seen := map[string]bool{}
		for _, e := range s.seen.events() {
			if e.Fill != nil && e.Fill.ClientOrderID == q.ClientOrderID {
				seen[e.Fill.TradeID] = true
			}
		}
		return len(seen) == len(list)
	})
}

func feeAssets(x *examiner) {
	s := x.open()
	for _, asset := range []string{s.symbol().Base(), s.symbol().Quote(), "BNB"} {
		x.fault(FaultFeeAsset, asset)
		q := s.market()
		s.submit(q)
		s.filled(q)
		for _, f := range s.fills(ref(q)) {
			if f.FeeAsset != asset || !f.Fee.IsPos() {
				x.Errorf("a fee of %s %s, want %s", f.Fee, f.FeeAsset, asset)
			}
		}
	}
}

func refusedSubscription(x *examiner) {
	x.fault(FaultAccount, "refuse")
	conn, req := x.venue.Connect(), x.request()
	if _, err := conn.Open(x.Context(), req); err != nil {
		return // it found out at once
	}
	defer conn.Close(x.Context(), false)
	ended := make(chan error, 1)
	go func() { ended <- conn.StreamAccount(x.Context(), func(exchange.AccountEvent) {}) }()
	select {
	case err := <-ended:
		if err == nil {
			x.Error("a subscription that was refused ended without an error")
		}
	case <-time.After(x.patience):
		x.Error("a subscription was refused, and nothing was said")
	}
}

func reconnectAsksResync(x *examiner) {
	s := x.open()
	if first := s.seen.events()[0]; first.State != exchange.Connected {
		x.Errorf("the stream begins with %+v", first)
	}
	before := len(s.seen.events())
	x.fault(FaultAccount, "cut")
	s.until("a word, and the connection", func() bool {
		lost := false
		for _, e := range s.seen.events()[before:] {
			lost = lost || e.State == exchange.Reconnecting || e.State == exchange.Gap
			if lost && e.State == exchange.Connected {
				return true
			}
		}
		return s.seen.accountError() != nil
	})
	if err := s.seen.accountError(); err != nil {
		x.Errorf("the stream gave up: %v", err)
	}
	q := s.limit(80)
	s.submit(q)
	s.until("events as before", func() bool { return s.seen.hasOrder(q.ClientOrderID, exchange.OrderOpen) })
}

func manualCancel(x *examiner) {
	s := x.open()
	q := s.limit(80)
	s.submit(q)
	x.fault(FaultManualCancel, q.ClientOrderID)
	s.until("the cancel on the stream", func() bool {
		return s.seen.hasOrder(q.ClientOrderID, exchange.OrderCanceled)
	})
	if o := s.query(ref(q)); o.Status != exchange.OrderCanceled {
		x.Errorf("the order is %s", o.Status)
	}
}

func leaseLoss(x *examiner) {
	if x.description().DeadMan == "none" {
		x.skip("the exchange dies with its host")
	}
	x.fault(FaultRestart)
	other := x.open()
	theirs := other.limit(80)
	other.submit(theirs)
	foreign := x.can(FaultForeignOrder, string(other.symbol()))
	file := filepath.Join(x.TempDir(), "live", "lease.json")
	s := x.open(func(q *exchange.OpenRequest) { q.LeaseTTL, q.LeaseFile = time.Second, file })
	var ours []string
	for range 2 {
		q := s.limit(80)
		s.submit(q)
		ours = append(ours, q.ClientOrderID)
	}
	exit := s.limit(80)
	exit.Reduces = true
	s.submit(exit)
	s.seen.mu.Lock()
	s.seen.quiet = true
	s.seen.mu.Unlock()
	var text []byte
	s.await("lease.json", func() bool { text, _ = os.ReadFile(file); return len(text) > 0 }, false)
	var report struct {
		Reason      string   `json:"reason"`
		Cancelled   []string `json:"cancelled"`
		Unconfirmed []string `json:"unconfirmed"`
		Kept        []string `json:"kept"`
		At          string   `json:"at"`
	}
	if err := json.Unmarshal(text, &report); err != nil || report.Reason == "" || report.At == "" {
		x.Errorf("lease.json: %s %v", text, err)
	}
	if !slices.Equal(slices.Sorted(slices.Values(report.Cancelled)), ours) || len(report.Unconfirmed) != 0 ||
		!slices.Equal(report.Kept, []string{exit.ClientOrderID}) {
		x.Errorf("lease.json: %s, want %v cancelled and %s kept", text, ours, exit.ClientOrderID)
	}
	if r, _ := s.Submit(x.Context(), theirs); r.Outcome != exchange.NotSent && r.Outcome != exchange.Unknown {
		x.Errorf("a submit after the loss: %+v", r)
	}
	for _, id := range ours {
		if o := other.query(exchange.OrderRef{ClientOrderID: id,
			Symbol: s.symbol()}); o.Status != exchange.OrderCanceled {
			x.Errorf("%s is %s", id, o.Status)
		}
	}
	if o := other.query(exchange.OrderRef{ClientOrderID: exit.ClientOrderID,
		Symbol: s.symbol()}); o.Status != exchange.OrderOpen {
		x.Errorf("the exit %s is %s", exit.ClientOrderID, o.Status)
	}
	open := -1 // the exit
	for range other.openOrders() {
		open++
	}
	if want := 1 + map[bool]int{true: 1}[foreign]; open != want {
		x.Errorf("%d orders of others are open, want %d", open, want)
	}
}

func noSecret(x *examiner) {
	x.credentials()
	s := x.open()
	var noted []string
	note := func(what ...any) { noted = append(noted, fmt.Sprintf("%+v", what)) }
	submit := func() {
		r, o := s.Submit(x.Context(), s.limit(80))
		note(r, o)
	}
	for _, action := range []string{CutBefore, HTML, Status500, WrongClock} {
		if x.can(FaultSubmit, action) {
			submit()
		}
	}
	if x.can(FaultEcho) {
		submit()
	}
	if x.can(FaultQuery, CutBefore) {
		r, o := s.Query(x.Context(), exchange.OrderRef{ClientOrderID: s.id(), Symbol: s.symbol()})
		note(r, o)
	}
	if x.can(FaultAccount, "cut") {
		s.step()
	}
	bad := s.limit(80)
	bad.Quantity = decimal.MustNew(1_000_000_000, 0)
	r, o := s.Submit(x.Context(), bad)
	note(r, o)
	_, err := s.Open(x.Context(), s.req)
	note(err)
	for _, e := range s.seen.events() {
		note(e.State, e.Reason, e.Order)
	}
	for _, e := range s.seen.candleEvents() {
		note(e.State, e.Reason)
	}
	c := s.req.Config
	for _, secret := range []string{c.APIKey.Reveal(), c.Secret.Reveal(), c.Password.Reveal()} {
		for _, line := range noted {
			if len(secret) >= 6 && strings.Contains(line, secret) {
				x.Errorf("a credential in %s", strings.ReplaceAll(line, secret, "..."))
			}
			if _, after, found := strings.Cut(line, "signature="); found &&
				!strings.HasPrefix(after, "[redacted]") {
				x.Errorf("a signature in an output")
			}
		}
	}
}
