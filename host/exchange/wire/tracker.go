package wire

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assay-run/assay/host/exchange"
)

// What makes absence definite, as for the host: so many NOT_FOUND this far apart, the
// last this long after sending.
const (
	absences     = 3
	absenceApart = 2 * time.Second
	absenceAfter = 10 * time.Second
)

const (
	sweepPause    = 500 * time.Millisecond // between two rounds of questions
	sweepPatience = 5 * time.Second        // for one order in one round
	sweepWidth    = 8                      // orders asked for at a time
	cancelApart   = 2 * time.Second        // between two cancels of an order
)

// tracker knows the orders of the run that may be open, by client order id.
type tracker struct {
	mu     sync.Mutex
	orders map[string]*tracked
}

// tracked is one order that may be open.
type tracked struct {
	ref      exchange.OrderRef
	sent     time.Time
	inFlight bool // its Submit has not returned
	over     bool // the venue has called it terminal meanwhile
	reduces  bool // it can only make a position smaller

	absent   int // how often NOT_FOUND in a row, absenceApart from each other
	absentAt time.Time
	canceled bool      // of a sweep: the venue said so
	asked    time.Time // of a sweep: to go
}

// sending notes orders before they leave.
func (t *tracker) sending(reduces bool, refs ...exchange.OrderRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.orders == nil {
		t.orders = map[string]*tracked{}
	}
	for _, ref := range refs {
		if t.orders[ref.ClientOrderID] == nil {
			t.orders[ref.ClientOrderID] = &tracked{ref: ref, reduces: reduces}
		}
		o := t.orders[ref.ClientOrderID]
		o.sent, o.inFlight = time.Now(), true
	}
}

// answered notes what became of a Submit. Only what certainly did not become an order is
// forgotten; of an order whose fate is unknown the sweep asks.
func (t *tracker) answered(outcome exchange.Outcome, refs ...exchange.OrderRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, ref := range refs {
		switch outcome {
		case exchange.Rejected, exchange.NotSent, exchange.Throttled, exchange.Banned, exchange.Clock,
			exchange.AuthFailed:
			delete(t.orders, ref.ClientOrderID)
		default:
			o := t.orders[ref.ClientOrderID]
			if o == nil {
				continue
			}
			o.inFlight = false
			if o.over {
				delete(t.orders, ref.ClientOrderID)
			}
		}
	}
}

// saw notes an order that the venue told about. One that is not of the run is ignored.
func (t *tracker) saw(o exchange.Order, reduces bool, ours func(id string) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.orders[o.ClientOrderID]
	switch {
	case terminal(o.Status):
		if known != nil && known.inFlight {
			known.over = true
		} else {
			delete(t.orders, o.ClientOrderID)
		}
	case known == nil && o.ClientOrderID != "" && ours(o.ClientOrderID):
		if t.orders == nil {
			t.orders = map[string]*tracked{}
		}
		t.orders[o.ClientOrderID] = &tracked{ref: exchange.OrderRef{ClientOrderID: o.ClientOrderID,
			Symbol: o.Symbol}, sent: time.Now(), reduces: reduces}
	}
}

// count returns how many orders may be open.
func (t *tracker) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.orders)
}

// left are the orders that may still be open, in order of their ids: all of them, or the entries.
func (t *tracker) left(all bool) []*tracked {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]*tracked, 0, len(t.orders))
	for _, o := range t.orders {
		if all || !o.reduces {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b *tracked) int {
		return cmp.Compare(a.ref.ClientOrderID, b.ref.ClientOrderID)
	})
	return list
}

func (t *tracker) done(o *tracked) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.orders, o.ref.ClientOrderID)
}

func (t *tracker) cancel(o *tracked, done bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o.canceled = done
}

func (t *tracker) flying(o *tracked) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return o.inFlight
}

func terminal(s exchange.OrderStatus) bool {
	switch s {
	case exchange.OrderFilled, exchange.OrderCanceled, exchange.OrderRejected, exchange.OrderExpired:
		return true
	}
	return false
}

// sweep cancels every order that may be open, or every entry, by its client order id and asks until it is
// confirmed as gone or ctx ends. Ids come back ascending.
func (g *guard) sweep(ctx context.Context, all bool) (cancelled, unconfirmed []string) {
	cancelled, unconfirmed = []string{}, []string{}
	listed := g.list(ctx)
	for ctx.Err() == nil {
		if !listed {
			listed = g.list(ctx)
		}
		cancelled = append(cancelled, g.round(ctx, all)...)
		if listed && len(g.orders.left(all)) == 0 {
			break
		}
		exchange.Pause(ctx, sweepPause)
	}
	for _, o := range g.orders.left(all) {
		unconfirmed = append(unconfirmed, o.ref.ClientOrderID)
	}
	slices.Sort(cancelled)
	return cancelled, unconfirmed
}

// round asks for every order once, several at a time, and returns those that are gone
// because they were canceled.
func (g *guard) round(ctx context.Context, all bool) (cancelled []string) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, sweepWidth)
	for _, o := range g.orders.left(all) {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if ctx.Err() != nil || !g.remove(ctx, o) {
				return
			}
			g.orders.done(o)
			if o.canceled {
				mu.Lock()
				defer mu.Unlock()
				cancelled = append(cancelled, o.ref.ClientOrderID)
			}
		})
	}
	wg.Wait()
	return cancelled
}

// list adds the run's orders that the venue holds open: those of a connector that died
// before this one. What the list lacks is not concluded to be gone.
func (g *guard) list(ctx context.Context) bool {
	if g.tag() == "" {
		return true
	}
	limited, cancel := context.WithTimeout(ctx, sweepPatience)
	defer cancel()
	open, err := g.inner.OpenOrders(limited)
	for _, o := range open {
		g.saw(o)
	}
	return err == nil
}

// remove cancels one order, asks for it, and reports whether it is gone for certain. What a
// cancel was answered does not matter: gone is what a Query reports as gone.
func (g *guard) remove(ctx context.Context, o *tracked) bool {
	limited, cancel := context.WithTimeout(ctx, sweepPatience)
	defer cancel()
	if o.asked.IsZero() || time.Since(o.asked) >= cancelApart {
		o.asked = time.Now()
		if r, _ := g.inner.Cancel(limited, o.ref); r.Outcome == exchange.Accepted {
			g.orders.cancel(o, true)
		}
	}
	r, seen := g.inner.Query(limited, o.ref)
	switch {
	case r.Outcome == exchange.NotFound:
		return g.orders.missing(o.ref.ClientOrderID)
	case r.Outcome != exchange.Accepted || seen.ClientOrderID != o.ref.ClientOrderID:
		return false
	}
	g.orders.found(o.ref.ClientOrderID)
	if !terminal(seen.Status) || g.orders.flying(o) {
		return false
	}
	g.orders.cancel(o, seen.Status == exchange.OrderCanceled)
	return true
}

// missing counts a NOT_FOUND, the host's own questions included, and reports whether the
// order never reached the venue, or has left it.
func (t *tracker) missing(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.orders[id]
	if o == nil {
		return true
	}
	now := time.Now()
	if o.absent == 0 || now.Sub(o.absentAt) >= absenceApart {
		o.absent++
		o.absentAt = now
	}
	if o.inFlight {
		return false
	}
	return o.canceled || o.absent >= absences && o.absentAt.Sub(o.sent) >= absenceAfter
}

// found takes the absences back.
func (t *tracker) found(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.orders[id]; o != nil {
		o.absent = 0
	}
}

// ours reports whether a client order id is one of the run's.
func (g *guard) ours(id string) bool {
	tag := g.tag()
	return tag != "" && strings.HasPrefix(id, "as"+tag)
}
