package bundle_test

import (
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
)

func listed(timeframe string, ranges ...string) *bundle.Bundle {
	b := &bundle.Bundle{Strategy: bundle.Strategy{Timeframes: []string{timeframe}}}
	for i := 0; i+1 < len(ranges); i += 2 {
		b.Strategy.Symbols = append(b.Strategy.Symbols, "S"+string(rune('A'+i))+"/USD")
		b.Data = append(b.Data, bundle.Dataset{Start: ranges[i], End: ranges[i+1]})
	}
	return b
}

// TestChallengeVectors are fixed for ever: answers are compared across versions. 8,760 hours have
// 6,761 starts, and the leaf modulo that is the step of the first candle.
func TestChallengeVectors(t *testing.T) {
	year := []string{"2023-01-01T00:00:00.000Z", "2024-01-01T00:00:00.000Z"}
	leaf := digest.SHA256Hex([]byte("leaf"))
	for name, c := range map[string]struct {
		leaf, timeframe string
		ranges          []string
		start           string
		candles         int64
	}{
		"first start":     {strings.Repeat("0", 64), "1h", year, "2023-01-01T00:00:00.000Z", 2000},
		"last start":      {strings.Repeat("0", 60) + "1a68", "1h", year, "2023-10-09T16:00:00.000Z", 2000},
		"wraps":           {strings.Repeat("0", 60) + "1a69", "1h", year, "2023-01-01T00:00:00.000Z", 2000},
		"a leaf":          {leaf, "1h", year, "2023-08-25T07:00:00.000Z", 2000},
		"half a year":     {leaf, "1d", year, "2023-03-09T00:00:00.000Z", 182},
		"exactly":         {leaf, "1h", []string{year[0], "2023-06-16T16:00:00.000Z"}, "2023-03-21T11:00:00.000Z", 2000},
		"one less":        {leaf, "1h", []string{year[0], "2023-06-16T15:00:00.000Z"}, "2023-03-21T11:00:00.000Z", 1999},
		"months":          {leaf, "1M", []string{"2020-02-01T00:00:00Z", "2024-02-01T00:00:00Z"}, "2021-01-01T00:00:00.000Z", 24},
		"common range":    {leaf, "1d", append([]string{"2023-03-01T00:00:00Z", "2025-01-01T00:00:00Z"}, year...), "2023-05-05T00:00:00.000Z", 153},
		"a broken candle": {leaf, "1d", []string{"2023-01-01T00:00:00Z", "2023-01-03T12:00:00Z"}, "2023-01-02T00:00:00.000Z", 1},
	} {
		got, err := bundle.ChallengeOf(c.leaf, listed(c.timeframe, c.ranges...))
		if err != nil || got.Start != c.start || got.Candles != c.candles || got.Leaf != c.leaf ||
			(got.Schema == "challenge/v1") != (c.candles == 2000) {
			t.Errorf("%s: %+v, %v; want %s, %d", name, got, err, c.start, c.candles)
			continue
		}
		from, to, err := got.Window(c.timeframe)
		if err != nil || from.String() != c.start || to <= from {
			t.Errorf("%s: the window is %s to %s, %v", name, from, to, err)
		}
	}
	got, err := bundle.ChallengeOf(leaf, listed("1h", year...))
	if _, to, bad := got.Window("1h"); err != nil || bad != nil || to.String() != "2023-11-16T15:00:00.000Z" {
		t.Errorf("the window ends at %s, %v, %v", to, err, bad)
	}
}

// TestEarlierWindows: what a log has of answers to windows of earlier versions is found again. Where two
// windows fit in the range they are the same.
func TestEarlierWindows(t *testing.T) {
	leaf, from := digest.SHA256Hex([]byte("leaf")), "2023-01-01T00:00:00.000Z"
	for name, c := range map[string]struct {
		b       *bundle.Bundle
		start   string
		candles int64
	}{
		"whole range": {listed("1d", from, "2024-01-01T00:00:00.000Z"), from, 365},
		"exactly":     {listed("1h", from, "2023-03-25T08:00:00.000Z"), from, 2000},
		"months":      {listed("1M", "2020-02-01T00:00:00Z", "2024-02-01T00:00:00Z"), "2020-02-01T00:00:00.000Z", 48},
		"one":         {listed("1d", from, "2023-01-02T00:00:00Z"), from, 1},
		"a year":      {listed("1h", from, "2024-01-01T00:00:00.000Z"), "2023-08-25T07:00:00.000Z", 2000},
	} {
		got, err := bundle.EarlierChallengeOf(leaf, c.b)
		if err != nil || *got != (bundle.Challenge{Schema: "challenge/v1", Leaf: leaf, Start: c.start,
			Candles: c.candles}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		now, err := bundle.ChallengeOf(leaf, c.b)
		if same := name == "a year"; err == nil && (*now == *got) != same || err != nil && name != "one" {
			t.Errorf("%s: %+v, %v, before %+v", name, now, err, got)
		}
	}
}

// TestNoChallenge: where nothing can be drawn, the reason says what is missing.
func TestNoChallenge(t *testing.T) {
	leaf := digest.SHA256Hex([]byte("leaf"))
	two := listed("1h", "2023-01-01T00:00:00Z", "2024-01-01T00:00:00Z")
	two.Strategy.Symbols = append(two.Strategy.Symbols, "B/USD")
	for name, c := range map[string]struct {
		leaf, words string
		b           *bundle.Bundle
	}{
		"no data":      {leaf, "/data", two},
		"no candles":   {leaf, "/data", &bundle.Bundle{}},
		"no timeframe": {leaf, "/strategy/timeframes/0", listed("1x", "2023-01-01T00:00:00Z", "2024-01-01T00:00:00Z")},
		"no leaf":      {"A0", "not a SHA-256", listed("1h", "2023-01-01T00:00:00Z", "2024-01-01T00:00:00Z")},
		"no times":     {leaf, "/data/0", listed("1h", "", "")},
		"one candle":   {leaf, "no common range of 2", listed("1d", "2023-01-01T00:00:00Z", "2023-01-02T00:00:00Z")},
		"apart": {leaf, "no common range", listed("1h", "2023-01-01T00:00:00Z", "2023-02-01T00:00:00Z",
			"2023-03-01T00:00:00Z", "2023-04-01T00:00:00Z")},
	} {
		if got, err := bundle.ChallengeOf(c.leaf, c.b); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, _, err := (&bundle.Challenge{Start: "now"}).Window("1h"); err == nil {
		t.Error("a start that is no time has a window")
	}
	if _, _, err := (&bundle.Challenge{}).Window("1x"); err == nil {
		t.Error("a timeframe that is none has a window")
	}
}

// TestReplayWithAnAnswer: the answer is read back as it was signed, and a statement without one as
// before.
func TestReplayWithAnAnswer(t *testing.T) {
	d := sealed(t)
	c, err := bundle.ChallengeOf(hex64("leaf"), listed("1h", "2023-01-01T00:00:00Z", "2024-01-01T00:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	said := *statements(d)[bundle.TypeReplay].(*bundle.Replay)
	old, err := bundle.NewStatement(bundle.TypeReplay, []bundle.Subject{bundle.FileSubject("x", hex64("x"))}, said)
	if err != nil || strings.Contains(string(old), "challenge") {
		t.Fatalf("%s, %v", old, err)
	}
	said.Challenge = &bundle.ChallengeAnswer{Challenge: *c, DecisionSHA256: hex64("decisions")}
	text, err := bundle.NewStatement(bundle.TypeReplay, []bundle.Subject{bundle.FileSubject("x", hex64("x"))}, said)
	if err != nil {
		t.Fatal(err)
	}
	read, refused := bundle.ReadStatement(text)
	if refused != nil || *read.Predicate.(*bundle.Replay).Challenge != *said.Challenge {
		t.Fatalf("%+v, %v", read, refused)
	}
	for path, value := range map[string]any{
		"schema": "challenge/v3", "seal_leaf_sha256": "x", "start": "now", "candles": 2001.0,
		"decision_sha256": "x", "more": 1.0,
	} {
		s := treeOf(t, text)
		s.set("predicate/challenge/"+path, value)
		_, err := bundle.ReadStatement(s.text())
		wants(t, path, err, bundle.InvalidAttestation, "/predicate/challenge/"+path)
	}
}
