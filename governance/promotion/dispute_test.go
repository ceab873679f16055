package promotion_test

import (
	"reflect"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/digest"
)

// disputes is a dispute of a day as days states it, or its end.
func disputes(by, event string, dates ...string) statement {
	p := bundle.Dispute{Event: event, Exchange: "x", Symbols: []string{"BTC/USDT"}, Timeframe: "1h"}
	for _, date := range dates {
		c := bundle.DisputedChunk{Date: date, Chunk: digest.SHA256Hex([]byte(date))}
		if event == bundle.DisputeOpen {
			c.Own, c.OwnRows = digest.SHA256Hex([]byte("other")), 24
			c.First = &bundle.DifferingCandle{Symbol: "BTC/USDT", OpenTime: date + "T07:00:00Z", Within: 1}
		}
		p.Chunks = append(p.Chunks, c)
	}
	return statement{by, bundle.TypeDispute, p}
}

// refuses holds what CheckDispute says of a dispute, "" for nothing.
func (p *plane) refuses(id string, s statement, reason string) {
	p.t.Helper()
	d := s.predicate.(bundle.Dispute)
	err := promotion.CheckDispute(p.w, id, keys[s.by].KeyID, &d, "/x")
	if reason == "" && err != nil || reason != "" && (err == nil || err.Code != bundle.InvalidDispute ||
		err.Reason != reason || err.Pointer != "/x") {
		p.t.Fatalf("%s: %v; want %q", s.by, err, reason)
	}
}

// again folds the facts anew and compares what a revision comes to.
func (p *plane) sameAgain(ids ...string) {
	p.t.Helper()
	w := promotion.New()
	if err := w.Apply(p.facts...); err != nil {
		p.t.Fatalf("%v", err)
	}
	for _, id := range ids {
		again, refused := w.State(bundle.SubjectRevision, id, p.now)
		if refused != nil || !reflect.DeepEqual(again, p.state(id)) {
			p.t.Fatalf("%+v, %v", again, refused)
		}
	}
}

// TestADayInDispute counts for no revision that was played on its candles, and again for all once the
// same key takes its word back.
func TestADayInDispute(t *testing.T) {
	p := shadowed(t)
	id := p.submit(p.good(), signature("packer"))
	other := p.submit(p.good(params(`{"fast":11}`)), signature("owner@example.com"), signature("packer"))
	first, _ := bundle.Day(p.work(id).NextDay)
	for i := range 60 {
		begin := first.AddDate(0, 0, i)
		p.now = begin.AddDate(0, 0, 1).Add(2 * 60 * 60 * 1e9)
		one := shadow(bundle.SourceExchange, days(begin, edge[i%2]))
		p.say(id, one)
		p.say(other, one)
	}
	p.gateIs(id, bundle.Canary, policy.Pending, "E is below 3: E is ")
	before := p.state(id).Shadow
	gain, loss := bundle.FormatDay(first.AddDate(0, 0, 2)), bundle.FormatDay(first.AddDate(0, 0, 3))

	open := disputes("replayer", bundle.DisputeOpen, gain)
	p.refuses(id, open, "")
	p.say(id, open)
	for _, r := range []string{id, other} {
		s := p.state(r).Shadow
		if s.Days != 59 || s.InDispute != 1 || s.Trades != 59 || s.E >= before.E || r == id && s.D != before.D ||
			len(s.Disputes) != 1 || s.Disputes[0].Principal != "replayer" || s.Disputes[0].First == nil {
			t.Errorf("%s: %+v", r, s)
		}
		p.gateIs(r, bundle.Canary, policy.Pending, "59 of 60 days: E is")
		p.gateIs(r, bundle.Canary, policy.Pending, "59 days and 59 trades, 1 day in dispute")
	}
	// Saying it again changes nothing, nor does a second key.
	p.refuses(id, open, bundle.ReasonRepeated)
	once := p.state(id)
	p.say(id, open, disputes("replayer", bundle.DisputeOpen, gain))
	if again := p.state(id); !reflect.DeepEqual(again.Shadow, once.Shadow) {
		t.Errorf("%+v, once %+v", again.Shadow, once.Shadow)
	}

	// A loss stays one: else a second key could dispute what lost.
	e := p.state(id).Shadow.E
	p.say(id, disputes("replayer", bundle.DisputeOpen, loss))
	if s := p.state(id).Shadow; s.Days != 58 || s.InDispute != 2 || s.E > e {
		t.Errorf("E went from %v to %+v", e, s)
	}
	p.sameAgain(id, other)
	p.refuses(id, disputes("shadow-1", bundle.DisputeWithdraw, gain), bundle.ReasonUnknown)
	p.say(id, disputes("shadow-1", bundle.DisputeWithdraw, gain))
	if s := p.state(id).Shadow; s.InDispute != 2 {
		t.Errorf("another key has taken it back: %+v", s)
	}
	p.refuses(id, disputes("replayer", bundle.DisputeWithdraw, gain, loss), "")
	p.say(id, disputes("replayer", bundle.DisputeWithdraw, gain, loss))
	for _, r := range []string{id, other} {
		if s := p.state(r).Shadow; s.Days != 60 || s.InDispute != 0 || s.E != before.E || s.Disputes != nil {
			t.Errorf("%+v", s)
		}
	}
	p.refuses(id, open, "")
	p.sameAgain(id, other)
}

// TestWhoMayDispute: not the key that has stated the day, about no other candles, and not from an endpoint
// of the operator's what was fetched from the exchange itself. A key that is no longer trusted disputes
// nothing.
func TestWhoMayDispute(t *testing.T) {
	p := shadowed(t)
	id := p.submit(p.good(), signature("packer"))
	p.play(id, bundle.SourceExchange, same(4, edge...))
	date := *p.state(id).Shadow.LastDay
	p.refuses(id, disputes("shadow-1", bundle.DisputeOpen, date), bundle.ReasonOwnChunk)
	p.say(id, disputes("shadow-1", bundle.DisputeOpen, date)) // as a log that was forged has it
	if s := p.state(id).Shadow; s.InDispute != 0 || s.Days != 4 {
		t.Errorf("the key of the day disputes it: %+v", s)
	}
	elsewhere := disputes("replayer", bundle.DisputeOpen, date)
	d := elsewhere.predicate.(bundle.Dispute)
	d.Fetches = []bundle.ShadowFetch{{Symbol: "BTC/USDT", Endpoint: "127.0.0.1:8080"}}
	elsewhere.predicate = d
	p.refuses(id, elsewhere, bundle.ReasonUnfetched)
	p.say(id, elsewhere)
	if s := p.state(id).Shadow; s.InDispute != 0 {
		t.Errorf("an endpoint of the operator's disputes the exchange: %+v", s)
	}
	p.say(id, disputes("replayer", bundle.DisputeWithdraw, date))
	p.refuses(id, disputes("replayer", bundle.DisputeOpen, "2030-01-01"), bundle.ReasonUnknown)
	p.refuses("cr-0", disputes("replayer", bundle.DisputeOpen, date), bundle.ReasonUnknown)
	market := disputes("replayer", bundle.DisputeOpen, date)
	d = market.predicate.(bundle.Dispute)
	d.Timeframe = "4h"
	market.predicate = d
	p.refuses(id, market, bundle.ReasonOtherMarket)

	p.say(id, disputes("replayer", bundle.DisputeOpen, date))
	list := promotion.ListShadowChunks(p.w, date)
	if len(list.Chunks) != 1 || len(list.Chunks[0].DisputedBy) != 2 || list.Chunks[0].KeyIDs[0] != keys["shadow-1"].KeyID {
		t.Errorf("%+v", list)
	}
	if s := p.state(id).Shadow; s.InDispute != 1 {
		t.Errorf("%+v", s)
	}
	p.trust(2, "2039-01-01T00:00:00Z", func(name string, k *bundle.TrustKey) {
		if name == "replayer" {
			k.Status = bundle.KeyRevoked
		}
	})
	if s := p.state(id).Shadow; s.InDispute != 0 || s.Days != 4 {
		t.Errorf("a revoked key disputes: %+v", s)
	}
}

// TestARuinIsNotDisputedAway: a loss beyond the bound ends the evidence, also with every day in dispute.
func TestARuinIsNotDisputedAway(t *testing.T) {
	p := shadowed(t)
	id := p.submit(p.good(), signature("packer"))
	p.play(id, bundle.SourceExchange, []float64{0.01, -0.0601})
	last, _ := bundle.Day(*p.state(id).Shadow.LastDay)
	p.say(id, disputes("replayer", bundle.DisputeOpen, bundle.FormatDay(last.AddDate(0, 0, -1)), bundle.FormatDay(last)))
	p.gateIs(id, bundle.Canary, policy.Fail, "more than twice the declared 0.03")
	if s := p.state(id).Shadow; s.Days != 0 || s.InDispute != 2 || s.E != 0 || s.FirstSeq == nil {
		t.Errorf("%+v", s)
	}
}
