package control_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// fetched states two days that begin with first, whose candles came two hours after their end.
func fetched(doc *bundle.Document, first time.Time, edit func(*bundle.Shadow)) planetest.Statement {
	const day = 24 * time.Hour
	end := first.Add(2 * day)
	s := bundle.Shadow{
		Common: planetest.Common(doc, end.Add(3*time.Hour)), Source: bundle.SourceExchange,
		Exchange: "binance", Symbols: doc.Bundle.Strategy.Symbols, Timeframe: "1h", Sandbox: "full",
	}
	for i, x := range []float64{0.02, 0.01} {
		begin := first.Add(time.Duration(i) * day)
		s.Days = append(s.Days, bundle.ShadowDay{Date: bundle.FormatDay(begin), Return: x, Fills: 2, Trades: 1,
			Rows: 24, Chunk: strings.Repeat("c", 64), FetchedAt: bundle.FormatTime(end.Add(2 * time.Hour))})
	}
	s.Fetches = []bundle.ShadowFetch{{
		Symbol: s.Symbols[0], From: bundle.FormatTime(first), To: bundle.FormatTime(end), Rows: 48,
		RequestedAt: bundle.FormatTime(end.Add(2 * time.Hour)), Page: strings.Repeat("a", 64),
		Connector: "binance", Version: "1.0.0", SHA256: strings.Repeat("b", 64),
	}}
	if edit != nil {
		edit(&s)
	}
	return planetest.Statement{By: "shadow-1", Type: bundle.TypeShadow, Predicate: s}
}

// TestFetchedDaysReachLive: the built-in policy's gates of canary and live hear of days whose candles
// the worker has fetched from the exchange, and of no others.
func TestFetchedDaysReachLive(t *testing.T) {
	p := plane(t, planetest.Options{Policy: policy.Default(), Trust: planetest.Trust(1, func(t *bundle.Trust) {
		t.Keys = append(t.Keys, planetest.TrustKey("shadow-1", "shadow-1", bundle.TrustShadow))
	})})
	doc := planetest.Good(p.Now(), planetest.Earning)
	submit(t, p, http.StatusCreated, doc, planetest.Signed(), replayed(doc, p.Now()))
	first := bundle.FirstShadowDay(p.Now())
	p.Advance(first.Add(2*24*time.Hour + 4*time.Hour).Sub(p.Now()))
	for what, edit := range map[string]func(*bundle.Shadow){
		"nothing was fetched":       func(s *bundle.Shadow) { s.Fetches = nil },
		"half of it was fetched":    func(s *bundle.Shadow) { s.Fetches[0].To = bundle.FormatTime(first.Add(24 * time.Hour)) },
		"the days say another time": func(s *bundle.Shadow) { s.Days[1].FetchedAt = bundle.FormatTime(first.Add(48 * time.Hour)) },
	} {
		a, err := p.Submit(doc, fetched(doc, first, edit))
		if err != nil || a.Code() != string(bundle.InvalidShadow) ||
			!strings.Contains(string(a.Body), bundle.ReasonUnfetched) {
			t.Errorf("%s: %d %s, %v", what, a.Status, a.Body, err)
		}
	}
	for range 31 {
		submit(t, p, http.StatusCreated, doc, fetched(doc, first, nil))
		first = first.Add(2 * 24 * time.Hour)
		p.Advance(2 * 24 * time.Hour)
	}
	for _, stage := range []string{"canary", "live"} {
		if g := gate(t, plan(t, p, doc, stage), "shadow.evidence"); g.Verdict != policy.Pass {
			t.Errorf("%s: %s, %s", stage, g.Verdict, g.Reason)
		}
	}
	submit(t, p, http.StatusCreated, doc, fetched(doc, first, func(s *bundle.Shadow) {
		s.Fetches[0].Endpoint = "127.0.0.1:8080"
	}))
	for _, stage := range []string{"canary", "live"} {
		g := gate(t, plan(t, p, doc, stage), "shadow.evidence")
		if g.Verdict != policy.Pending || !strings.Contains(g.Reason, "unattested") {
			t.Errorf("%s from another endpoint: %s, %s", stage, g.Verdict, g.Reason)
		}
	}
}
