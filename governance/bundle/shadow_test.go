package bundle_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
)

// shadowStatement is the text of a statement about two days.
func shadowStatement(t testing.TB, edit func(map[string]any)) []byte {
	t.Helper()
	day := func(date, fetched string) map[string]any {
		return map[string]any{"date": date, "return": -0.01, "fills": 2, "trades": 1, "candles": 24,
			"chunk_sha256": strings.Repeat("a", 64), "fetched_at": fetched, "late": false}
	}
	p := map[string]any{
		"log_origin": "governance.test", "candidate_revision_id": "cr-" + strings.Repeat("0", 64),
		"made_at": "2026-11-27T02:00:00Z", "expires_at": "2026-12-27T02:00:00Z", "reason": "",
		"source": "import", "exchange": "x", "symbols": []any{"BTC/USDT"}, "timeframe": "1h", "sandbox": "full",
		"days": []any{day("2026-11-25", "2026-11-26T01:00:00Z"), day("2026-11-26", "2026-11-27T01:00:00Z")},
		"compared": []any{map[string]any{"run_id": "r", "fills": 3, "diverging_fills": 1,
			"days": []any{map[string]any{"date": "2026-11-25", "fills": 3, "diverging_fills": 1}}}},
	}
	if edit != nil {
		edit(p)
	}
	text, err := json.Marshal(map[string]any{
		"_type": bundle.StatementType, "predicateType": bundle.TypeShadow, "predicate": p,
		"subject": []any{map[string]any{"name": "b", "digest": map[string]any{"sha256": strings.Repeat("b", 64)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestShadowStatements(t *testing.T) {
	said, refused := bundle.ReadStatement(shadowStatement(t, nil))
	if refused != nil {
		t.Fatal(refused)
	}
	s, ok := said.Predicate.(*bundle.Shadow)
	if !ok || len(s.Days) != 2 || s.Days[1].Return != -0.01 || s.Compared[0].Diverging != 1 || said.Common == nil {
		t.Fatalf("%+v", said.Predicate)
	}
	fetched := func(edit func(map[string]any)) func(map[string]any) {
		return func(p map[string]any) {
			f := map[string]any{"symbol": "BTC/USDT", "from": "2026-11-25T00:00:00Z", "to": "2026-11-27T00:00:00Z",
				"candles": 48, "requested_at": "2026-11-27T01:00:00Z", "page_sha256": strings.Repeat("c", 64),
				"connector": "binance", "connector_version": "1.0.0", "connector_sha256": strings.Repeat("d", 64),
				"endpoint": ""}
			p["source"], p["fetches"] = "exchange", []any{f}
			edit(f)
		}
	}
	said, refused = bundle.ReadStatement(shadowStatement(t, fetched(func(map[string]any) {})))
	if refused != nil {
		t.Fatal(refused)
	}
	s = said.Predicate.(*bundle.Shadow)
	if !s.Attested() || s.Fetched(&s.Days[0]) || !s.Fetched(&s.Days[1]) {
		t.Errorf("the first day was fetched before it says, or the second was not: %+v", s)
	}
	s.Fetches[0].Endpoint = "127.0.0.1:8080"
	if s.Attested() {
		t.Error("another endpoint than the exchange's own is attested")
	}
	s.Fetches[0].Endpoint = ""
	for _, weaker := range []string{"", "partial", "off"} {
		if s.Sandbox = weaker; s.Attested() {
			t.Errorf("days in the sandbox %q are attested: the program may have looked them up", weaker)
		}
	}
	whole := func(edit func(d, next map[string]any)) func(map[string]any) {
		return func(p map[string]any) {
			d := map[string]any{"date": "2026-11-25", "fills": 3, "diverging_fills": 1, "return": 0.01, "shadow_return": -0.02}
			next := map[string]any{"date": "2026-11-26", "fills": 0, "diverging_fills": 0, "partial": "end"}
			edit(d, next)
			p["compared"].([]any)[0].(map[string]any)["days"] = []any{d, next}
		}
	}
	said, refused = bundle.ReadStatement(shadowStatement(t, whole(func(_, _ map[string]any) {})))
	if refused != nil {
		t.Fatal(refused)
	}
	if b := said.Predicate.(*bundle.Shadow).Compared[0].Beside(); b.Whole != 1 || math.Abs(*b.Return-0.01) > 1e-15 ||
		*b.MeanDifference != 0.03 || len(b.Partial) != 1 {
		t.Errorf("%+v", b)
	}
	first := func(p map[string]any) map[string]any { return p["days"].([]any)[0].(map[string]any) }
	for pointer, edit := range map[string]func(map[string]any){
		"/predicate/source":              func(p map[string]any) { p["source"] = "rumour" },
		"/predicate/timeframe":           func(p map[string]any) { p["timeframe"] = "hour" },
		"/predicate/symbols":             func(p map[string]any) { p["symbols"] = []any{} },
		"/predicate/days":                func(p map[string]any) { p["days"], p["compared"] = []any{}, []any{} },
		"/predicate/days/0/date":         func(p map[string]any) { first(p)["date"] = "25.11.2026" },
		"/predicate/days/1/date":         func(p map[string]any) { first(p)["date"] = "2026-11-24" },
		"/predicate/days/0/fetched_at":   func(p map[string]any) { first(p)["fetched_at"] = "2026-11-25T23:00:00Z" },
		"/predicate/days/0/late":         func(p map[string]any) { first(p)["late"] = true },
		"/predicate/days/0/trades":       func(p map[string]any) { first(p)["trades"] = -1 },
		"/predicate/days/0/chunk_sha256": func(p map[string]any) { first(p)["chunk_sha256"] = "" },
		"/predicate/compared/0/diverging_fills": func(p map[string]any) {
			p["compared"].([]any)[0].(map[string]any)["diverging_fills"] = 0
		},
		"/predicate/compared/0/days/0/shadow_return": whole(func(d, _ map[string]any) { delete(d, "return") }),
		"/predicate/compared/0/days/0/partial":       whole(func(d, _ map[string]any) { d["partial"] = "begin" }),
		"/predicate/compared/0/days/1/partial":       whole(func(_, next map[string]any) { next["partial"] = "idle" }),
		"/predicate/compared/0/days/1/date":          whole(func(d, next map[string]any) { next["date"] = d["date"] }),
		"/predicate/compared/0/days/0/return":        whole(func(d, _ map[string]any) { d["return"] = -1e7 }),
		"/predicate/fetches": func(p map[string]any) {
			fetched(func(map[string]any) {})(p)
			p["source"] = "import"
		},
		"/predicate/fetches/0/symbol":           fetched(func(f map[string]any) { f["symbol"] = "ETH/USDT" }),
		"/predicate/fetches/0/to":               fetched(func(f map[string]any) { f["to"] = f["from"] }),
		"/predicate/fetches/0/candles":          fetched(func(f map[string]any) { f["candles"] = -1 }),
		"/predicate/fetches/0/connector_sha256": fetched(func(f map[string]any) { f["connector_sha256"] = "d" }),
		"/predicate/fetches/0/requested_at":     fetched(func(f map[string]any) { f["requested_at"] = "2026-11-26T23:00:00Z" }),
		"/predicate/honest":                     func(p map[string]any) { p["honest"] = true },
	} {
		_, refused := bundle.ReadStatement(shadowStatement(t, edit))
		if refused == nil || refused.Pointer != pointer || refused.Code != bundle.InvalidAttestation {
			t.Errorf("%s: %+v", pointer, refused)
		}
	}
}

func TestFirstShadowDay(t *testing.T) {
	for sealed, want := range map[string]string{
		"2026-11-24T00:00:00Z": "2026-11-24", "2026-11-24T00:00:00.001Z": "2026-11-25", "2026-11-24T23:59:59Z": "2026-11-25",
	} {
		at, err := time.Parse(time.RFC3339Nano, sealed)
		if err != nil {
			t.Fatal(err)
		}
		if got := bundle.FormatDay(bundle.FirstShadowDay(at)); got != want {
			t.Errorf("sealed at %s: %s, want %s", sealed, got, want)
		}
	}
}

// FuzzShadow: what is read is written again as the same statement, and its days have no gap.
func FuzzShadow(f *testing.F) {
	f.Add(shadowStatement(f, nil))
	f.Add(shadowStatement(f, func(p map[string]any) {
		p["promise"] = map[string]any{"run_id": "r", "days": []any{map[string]any{"return": 1, "fills": 0}}}
	}))
	f.Add(shadowStatement(f, func(p map[string]any) {
		var days []any
		for _, date := range []string{"2026-11-25", "2026-11-26", "2026-11-27"} {
			days = append(days, map[string]any{"date": date, "fills": 0, "diverging_fills": 0, "return": 1e308, "shadow_return": -1e6})
		}
		p["compared"] = []any{map[string]any{"run_id": "r", "fills": 0, "diverging_fills": 0, "days": days}}
	}))
	f.Fuzz(func(t *testing.T, text []byte) {
		said, refused := bundle.ReadStatement(text)
		if refused != nil {
			return
		}
		s, ok := said.Predicate.(*bundle.Shadow)
		if !ok {
			return
		}
		for i := range s.Days {
			if i > 0 && !s.Days[i].Begin().Equal(s.Days[i-1].Begin().AddDate(0, 0, 1)) {
				t.Fatalf("day %d follows %s: %s", i, s.Days[i-1].Date, s.Days[i].Date)
			}
		}
		if _, err := bundle.ShadowHistory(s.Days); err != nil {
			t.Fatal(err)
		}
		for i := range s.Compared {
			if _, err := json.Marshal(s.Compared[i].Beside()); err != nil {
				t.Fatal(err)
			}
		}
	})
}
