package engine

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/hosttest/testvenue"
	"github.com/assay-run/assay/host/hosttest/toxics"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// netFault is one thing that goes wrong between the connector and the venue.
type netFault struct {
	call string // submit, cancel, query
	body string // an action of the test venue, or:
	// a toxic of toxiproxy on a link, in a direction.
	toxic, link, direction string
	attributes             map[string]int
}

func (f netFault) String() string {
	if f.body != "" {
		return f.call + " body " + f.body
	}
	return f.call + " " + f.link + " " + f.direction + " " + f.toxic
}

// breaks says that the answer to the call cannot be a good one.
func (f netFault) breaks() bool {
	return f.body != "" || f.link == "rest" &&
		slices.Contains([]string{"timeout", "reset_peer", "limit_data", "slow_close"}, f.toxic)
}

var calledBy = map[string]string{"submit": "POST /api/v3/order", "cancel": "DELETE /api/v3/order",
	"query": "GET /api/v3/order"}

// bodies are the actions of the test venue, with the outcome that each must have.
var bodies = []struct {
	action string
	want   exchange.Outcome
}{
	{"cut_before", exchange.Unknown}, {"cut_after", exchange.Unknown}, {"hang_before", exchange.Unknown},
	{"hang_after", exchange.Unknown},
	{"html", exchange.Unknown}, {"empty", exchange.Unknown}, {"truncated", exchange.Unknown},
	{"foreign_id", exchange.Unknown},
	{"500", exchange.Unknown}, {"503", exchange.Unknown}, {"429", exchange.Throttled},
	{"418", exchange.Banned}, {"clock", exchange.Clock},
}

// netFaults are all of them, or those of make test: every body fault of every call, and every toxic
// in both directions of both links, the calls in turn.
func netFaults(all bool) []netFault {
	calls := []string{"submit", "cancel", "query"}
	var list []netFault
	for _, b := range bodies {
		for _, call := range calls {
			list = append(list, netFault{call: call, body: b.action})
		}
	}
	turn := 0
	type attributes = map[string]int
	for _, toxic := range []struct {
		kind     string
		up, down attributes
	}{
		{"timeout", attributes{"timeout": 600}, attributes{"timeout": 600}},
		{"reset_peer", attributes{"timeout": 0}, attributes{"timeout": 20}},
		{"limit_data", attributes{"bytes": 90}, attributes{"bytes": 150}},
		{"slow_close", attributes{"delay": 700}, attributes{"delay": 700}},
		{"latency", attributes{"latency": 700, "jitter": 200}, attributes{"latency": 700, "jitter": 200}},
		{"bandwidth", attributes{"rate": 1}, attributes{"rate": 1}},
	} {
		for _, link := range []string{"rest", "stream"} {
			for _, direction := range []string{"upstream", "downstream"} {
				given := toxic.up
				if direction == "downstream" {
					given = toxic.down
				}
				for i, call := range calls {
					if all || i == turn%len(calls) {
						list = append(list,
							netFault{call: call, toxic: toxic.kind, link: link, direction: direction,
								attributes: given})
					}
				}
				turn++
			}
		}
	}
	return list
}

// TestAmbiguousOnTheWire plays what networks and broken servers do to a submit, a cancel and a query,
// between the real connector and the test venue. Whatever happened there, the books say it in the end,
// and what must always be so is so.
func TestAmbiguousOnTheWire(t *testing.T) {
	t.Parallel()
	book, server := shared(t), toxics.Start(t)
	list := netFaults(ring.At() == ring.Soak)
	if ring.At() < ring.Prove { // a third, over all kinds and calls
		i := -1
		list = slices.DeleteFunc(list, func(netFault) bool { i++; return (i+i/3)%3 != 0 })
	}
	distinct := map[string]bool{}
	capped, mu := 0, sync.Mutex{}
	var wg sync.WaitGroup
	for i, f := range list {
		distinct[f.String()] = true
		r := newRig(t, f.String(), book)
		r.proxied(server)
		wg.Go(func() {
			defer r.close()
			time.Sleep(time.Duration(i) * 50 * time.Millisecond)
			p := player{rig: r, fault: f}
			p.deaf = i % 2
			n := p.play()
			mu.Lock()
			defer mu.Unlock()
			capped += n
		})
	}
	wg.Wait()
	// How often depends on how soon an order was known again; never would prove nothing.
	if t.Logf("the cap denied %d orders", capped); capped < ring.Size(1, 5, 5) {
		t.Error("the cap was hardly ever reached")
	}
	if !t.Failed() {
		ring.Count(t, "network and body faults", len(distinct), ring.Size(20, 60, 100))
	}
}

// player plays one fault.
type player struct {
	*rig
	fault    netFault
	answers  []exchange.Outcome // of the calls that it struck
	atToxics sync.Mutex
}

// struck is how many calls of the kind go wrong.
const struck = 2

// size is what each entry buys; three of them are more than the cap allows.
const size = 0.03

func (p *player) play() (capped int) {
	p.limits.MaxPositionFraction = d("0.25")
	p.prepare()
	p.around = p.strike
	p.decide = func(v *View) []market.Intent {
		low := limit(market.Buy, size, v.Candles[0].Close*0.7)
		low.ClientRef = "low"
		switch v.Step {
		case 1:
			return []market.Intent{buy(size), low}
		case 2, 4, 5:
			return []market.Intent{buy(size)}
		case 3:
			return []market.Intent{{Action: market.Cancel, Ref: "low"}}
		case 6:
			return []market.Intent{{Action: market.Close}}
		}
		return nil
	}
	p.start()
	ok := p.trades()
	for range 8 {
		ok = ok && p.step()
	}
	ok = ok && p.settled()
	if err := p.stop(); !errors.Is(err, errStop) {
		p.errorf("%v; %+v", err, p.notes())
		return 0
	}
	p.gone.Wait()
	p.check(d("2520")) // the market moves a little between the judgement and the fill
	p.judge(ok)
	for _, o := range p.notes().orders {
		if o.Reason == "POSITION_NOTIONAL_EXCEEDED" {
			capped++
		}
	}
	return capped
}

// prepare tells the venue what is to happen.
func (p *player) prepare() {
	f := p.fault
	if f.call == "query" { // there is one only of what nobody knows
		p.deaf = struck
		p.do(testvenue.Script{Match: calledBy["submit"], Times: struck, Action: "cut_after"})
	}
	switch {
	case f.body != "":
		p.do(testvenue.Script{Match: calledBy[f.call], Times: struck, Action: f.body})
	case f.link == "rest" && f.toxic == "slow_close": // there must be something to close
		p.do(testvenue.Script{Match: calledBy[f.call], Times: struck, Action: "cut_after"})
	}
}

// strike spoils the link while a call is under way, a stream for a while longer.
func (p *player) strike(call string, n int) func(exchange.Result) {
	f := p.fault
	if call != f.call || n > struck {
		return nil
	}
	heal := func() {}
	if f.toxic != "" {
		proxy := map[string]*toxics.Proxy{"rest": p.rest, "stream": p.streams}[f.link]
		p.atToxics.Lock()
		heal = p.spoil(proxy, f.toxic, f.direction, f.attributes, n)
		p.atToxics.Unlock()
		if f.link == "stream" && f.toxic == "slow_close" {
			p.do(testvenue.Script{Action: "stream_cut", Args: []string{"all"}})
		}
	}
	return func(r exchange.Result) {
		p.mu.Lock()
		p.answers = append(p.answers, r.Outcome)
		p.mu.Unlock()
		p.gone.Go(func() {
			if f.link == "stream" {
				time.Sleep(1500 * time.Millisecond)
			}
			p.atToxics.Lock()
			defer p.atToxics.Unlock()
			heal()
		})
	}
}

// judge holds what the calls answered, and what the run said, against the fault.
func (p *player) judge(whole bool) {
	p.mu.Lock()
	answers := slices.Clone(p.answers)
	p.mu.Unlock()
	if !whole {
		return
	}
	if len(answers) == 0 {
		p.errorf("the fault was not played")
	}
	want := exchange.Unknown
	for _, b := range bodies {
		if b.action == p.fault.body {
			want = b.want
		}
	}
	if p.fault.breaks() && !slices.Contains(answers, want) {
		p.errorf("answers %v, want %s", answers, want)
	}
	for _, a := range answers {
		if p.fault.breaks() && a != want && a != exchange.NotSent {
			p.errorf("answers %v, want %s", answers, want)
		}
	}
	n := p.notes()
	for _, code := range []string{CodeBalanceDrift, order.CodeOverfill, order.CodeLateFill,
		order.CodeFillConflict, CodeForeignOrders} {
		if n.warned(code) {
			p.errorf("%v", n.warnings)
		}
	}
	for _, o := range n.orders {
		if o.Status == market.StatusRejected && o.Reason == "" {
			p.errorf("an order was rejected without a reason: %+v", o)
		}
	}
}
