package order

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/exchange"
)

// lostOrder returns an order whose submit went unanswered at second 0.
func lostOrder(t *testing.T) *harness {
	h := sentOrder(t)
	h.apply(reply(1, exchange.Unknown), 0)
	h.is(Lost)
	return h
}

// queries drives the book for so many seconds, answering every query with an outcome, and
// says when it was asked.
func (h *harness) queries(from, to float64, answer exchange.Outcome) string {
	h.t.Helper()
	var asked []string
	for at := from; at <= to; at += 0.5 {
		e := h.take(h.book.Due(sec(at)), nil)
		if count(e, Query) > 0 {
			asked = append(asked, fmt.Sprint(at))
			h.apply(queried(1, answer), at)
		}
	}
	return strings.Join(asked, " ")
}

func TestUnknownResolution(t *testing.T) {
	h := lostOrder(t)
	if !h.book.Unresolved(btc) || h.book.Unresolved("ETH/USDT") {
		t.Error("entries must be denied on this symbol, and on this symbol only")
	}
	if got := h.queries(0, 60, exchange.Unknown); got != "1 2 4 8 18 28 38 48 58" {
		t.Errorf("asked at %s", got)
	}
	h.is(Lost)
	h.queries(60.5, 119.5, exchange.Unknown)
	if h.book.halted {
		t.Error("halted too early")
	}
	h.queries(120, 120, exchange.Unknown)
	if !h.book.halted || count(h.all, Halt) != 1 {
		t.Error("not halted after two minutes")
	}
	if got := h.queries(120.5, 200, exchange.Unknown); got != "128 138 148 158 168 178 188 198" {
		t.Errorf("it must keep asking: %s", got)
	}
	h.apply(sight(1, exchange.OrderOpen, "0"), 201)
	h.is(Open)
	if h.book.halted || count(h.all, Resume) != 1 || h.book.Unresolved(btc) {
		t.Error("resolved, and still halted")
	}
}

// TestAckEndsTheSearch: news on any channel does.
func TestAckEndsTheSearch(t *testing.T) {
	list := sight(1, exchange.OrderOpen, "0")
	list.Source = FromList
	for name, tc := range map[string]struct {
		ev   Event
		want State
	}{
		"reply":  {accepted(1, exchange.OrderOpen, "0"), Open},
		"stream": {sight(1, exchange.OrderPartiallyFilled, "0.5"), Partial},
		"list":   {list, Open},
		"query":  {found(1, exchange.OrderFilled, "1"), Filled},
		"fill":   {trade(1, "t1", "0.5"), Partial},
		"reject": {reply(1, exchange.Rejected), Rejected},
	} {
		h := lostOrder(t)
		h.queries(0, 3, exchange.NotFound)
		h.apply(tc.ev, 3)
		h.is(tc.want)
		h.apply(queried(1, exchange.NotFound), 30)
		h.book.FillsPage(btc, exchange.Fills{Complete: true}, day0, sec(31), sec(31))
		if h.is(tc.want); h.book.Unresolved(btc) {
			t.Errorf("%s: still unresolved", name)
		}
	}
}

func TestAbsenceIsDefinite(t *testing.T) {
	t.Run("definite", func(t *testing.T) {
		h := lostOrder(t)
		if got := h.queries(0, 20, exchange.NotFound); got != "1 2 4 8 18" {
			t.Errorf("asked at %s", got)
		}
		h.is(Lost)
		if count(h.all, FetchFills) != 1 {
			t.Errorf("the fills decide: %s", show(h.all))
		}
		effects, _ := h.book.FillsPage(btc, exchange.Fills{Complete: true}, day0, sec(18), sec(19))
		h.take(effects, nil)
		h.is(Rejected)
		if s := h.status(); s.Reason != "NEVER_REACHED_VENUE" {
			t.Errorf("reason %s", s.Reason)
		}
	})
	t.Run("the connector may have held it", func(t *testing.T) {
		h := sentOrder(t)
		h.apply(reply(1, exchange.Unknown), 10) // handed over at 0: it may have left just now
		h.queries(10, 27.5, exchange.NotFound)
		h.book.FillsPage(btc, exchange.Fills{Complete: true}, day0, sec(19.5), sec(19.5))
		h.is(Lost)
		h.queries(28, 28, exchange.NotFound)
		h.is(Lost)
		h.book.FillsPage(btc, exchange.Fills{Complete: true}, day0, sec(28), sec(28))
		h.is(Rejected)
	})
	t.Run("network errors count for nothing", func(t *testing.T) {
		h := lostOrder(t)
		h.queries(0, 600, exchange.Unknown)
		h.book.FillsPage(btc, exchange.Fills{Complete: true}, day0, sec(600), sec(600))
		h.is(Lost)
	})
	for name, asked := range map[string][]float64{
		"two":                   {4, 18},
		"close together":        {10.1, 11, 12},
		"all too soon":          {1, 4, 8, 9.9},
		"asked before it left":  {-5, -3, -1},
		"third less than 2 off": {4, 11, 12.9},
	} {
		t.Run(name, func(t *testing.T) {
			h := lostOrder(t)
			for _, at := range asked {
				ev := queried(1, exchange.NotFound)
				ev.RequestedAt = sec(at)
				h.apply(ev, max(at, 0)+0.5)
			}
			h.book.FillsPage(btc, exchange.Fills{Complete: true}, day0, sec(20), sec(20))
			h.is(Lost)
		})
	}
	for name, page := range map[string]struct {
		complete     bool
		since, asked float64
	}{
		"incomplete fills": {false, 0, 20}, "fills since later": {true, 1, 20},
		"fills asked too soon": {true, 0, 9},
	} {
		t.Run(name, func(t *testing.T) {
			h := lostOrder(t)
			h.queries(0, 30, exchange.NotFound)
			effects, _ := h.book.FillsPage(btc, exchange.Fills{Complete: page.complete}, sec(page.since),
				sec(page.asked), sec(31))
			h.take(effects, nil)
			h.is(Lost)
		})
	}
	t.Run("a fill of ours", func(t *testing.T) {
		h := lostOrder(t)
		h.queries(0, 30, exchange.NotFound)
		h.book.FillsPage(btc,
			exchange.Fills{Complete: true, Fills: []exchange.Fill{trade(1, "t1", "0.5").Fill}}, day0, sec(30),
			sec(31))
		h.is(Partial)
	})
	t.Run("after a duplicate", func(t *testing.T) {
		h := sentOrder(t)
		if e := h.apply(reply(1, exchange.Duplicate), 0); count(e, Query) != 1 {
			t.Errorf("%s", show(e))
		}
		h.is(Lost)
		h.apply(queried(1, exchange.NotFound), 0)
		h.queries(0, 60, exchange.NotFound)
		h.book.FillsPage(btc, exchange.Fills{Complete: true}, day0, sec(60), sec(60))
		h.is(Lost)
	})
	t.Run("fills first", func(t *testing.T) {
		h := lostOrder(t)
		h.book.FillsPage(btc, exchange.Fills{Complete: true}, day0, sec(12), sec(12))
		h.is(Lost)
		h.queries(0, 18, exchange.NotFound)
		h.is(Rejected)
	})
}

func TestInFlightIsAskedFor(t *testing.T) {
	h := sentOrder(t)
	if e := h.book.Due(sec(4.9)); len(e) != 0 {
		t.Errorf("%s", show(e))
	}
	if e := h.book.Due(sec(5)); count(e, Query) != 1 {
		t.Errorf("%s", show(e))
	}
	h.apply(queried(1, exchange.NotFound), 5.5) // it may still be on its way
	h.is(Sent)
	if next := h.book.NextDue(); !next.Equal(sec(10)) {
		t.Errorf("next at %s", next.Sub(day0))
	}
	h.apply(found(1, exchange.OrderOpen, "0"), 11)
	h.is(Open)
	if !h.book.NextDue().IsZero() {
		t.Error("a resting order needs no query by time")
	}
}
