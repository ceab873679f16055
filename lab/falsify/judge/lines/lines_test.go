package lines_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/lab/falsify/judge/lines"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/plugin-sdk/market"
)

const hour = market.Time(3600 * 1000)

func line(seq, candle int, kind, side string, at market.Time) string {
	return fmt.Sprintf(
		`{"candle":%d,"kind":"%s","seq":%d,"side":"%s","split":"full","tag":"\"kind\":\"intent\"","time":"%s"}`, candle, kind, seq, side, at)
}

func text(list ...string) []byte { return []byte(strings.Join(list, "\n")) }

// How a truncated run ends is no decision, and what comes behind the cut does not count.
func TestPrefix(t *testing.T) {
	whole := text(line(0, 0, "intent", "buy", hour), line(1, 0, "order", "buy", hour),
		line(2, 1, "fill", "buy", hour), line(3, 1, "reject", "sell", 2*hour),
		line(4, 2, "intent", "sell", 3*hour))
	cut := text(line(0, 0, "intent", "buy", hour), line(1, 0, "order", "buy", hour),
		line(2, 1, "fill", "buy", hour), line(3, 1, "reject", "sell", 2*hour),
		line(4, 1, "order", "buy", 2*hour))
	at := func(b []byte, t market.Time) string {
		h, err := lines.Prefix(b, t)
		if err != nil {
			panic(err)
		}
		return h
	}
	if at(whole, 2*hour) != at(cut, 2*hour) || at(whole, 3*hour) == at(cut, 3*hour) ||
		at(whole, hour) == at(whole, 2*hour) {
		t.Error("prefixes")
	}
	times, err := lines.Times(whole, 2*hour)
	if err != nil || !slices.Equal(times, []market.Time{2 * hour, 3 * hour}) {
		t.Error(times, err)
	}
	for _, bad := range []string{`{"kind":"intent"}`, `{"kind":"intent","time":"20`,
		`{"kind":"intent","time":"noon"}`} {
		if _, err := lines.Prefix([]byte(bad), hour); err == nil {
			t.Error(bad)
		}
		if _, _, err := lines.Differing([]byte(bad), nil, 0); err == nil {
			t.Error(bad)
		}
	}
}

// A decision that is missing shifts the numbers of all others, and they are the same.
func TestDiffering(t *testing.T) {
	want := text(line(0, 0, "intent", "buy", hour), line(1, 1, "intent", "sell", 2*hour),
		line(2, 2, "intent", "buy", 3*hour))
	got := text(line(0, 101, "intent", "sell", 2*hour), line(1, 102, "intent", "sell", 3*hour),
		line(2, 102, "fill", "buy", 3*hour))
	for _, c := range []struct {
		a, b           []byte
		from           market.Time
		all, differing int
	}{
		{want, want, 0, 3, 0}, {want, got, 0, 3, 2}, {got, want, 0, 2, 2}, {want, got, 2 * hour, 2, 1},
		{want, nil, 0, 3, 3}, {nil, want, 0, 0, 3},
		{text(line(0, 0, "intent", "buy", hour), line(1, 0, "intent", "buy", hour)),
			text(line(0, 0, "intent", "buy", hour)), 0, 2, 1},
	} {
		all, differing, err := lines.Differing(c.a, c.b, c.from)
		if all != c.all || differing != c.differing || err != nil {
			t.Errorf("%d of %d, %v; want %d of %d", differing, all, err, c.differing, c.all)
		}
	}
	if _, _, err := lines.Differing(text(`{"kind":"intent","time":"2020-01-01T00:00:00.000Z"`), nil,
		0); err == nil {
		t.Error("half a line")
	}
}

func TestFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 30).Draw(t, "n")
		var a [][]byte
		for i := range n {
			a = append(a, []byte(fmt.Sprint("line ", i)))
		}
		whole := bytes.Join(a, []byte("\n"))
		if _, differ := lines.First(whole, append(slices.Clone(whole), '\n')); differ {
			t.Fatal("equal texts differ")
		}
		k := rapid.IntRange(0, n).Draw(t, "k")
		b := append(slices.Clone(a[:k]), []byte("other"))
		d, differ := lines.First(whole, bytes.Join(b, []byte("\n")))
		if !differ || d.Line != k || len(d.Want) > 10 || !bytes.Equal(d.Got[len(d.Got)-1], []byte("other")) ||
			len(d.Got) != min(k, 5)+1 {
			t.Fatalf("at %d of %d: %+v", k, n, d)
		}
		if k < n && !bytes.Equal(d.Want[min(k, 5)], a[k]) {
			t.Fatal("the line that differs is not where it should be")
		}
	})
}

// FuzzLines: whatever the text, a hash or an error, and no text differs from itself.
func FuzzLines(f *testing.F) {
	f.Add([]byte(line(0, 0, "intent", "buy", hour)))
	f.Add([]byte("\n\n{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = lines.Prefix(b, hour)
		if _, n, err := lines.Differing(b, b, 0); err == nil && n != 0 {
			t.Fatal("differs from itself")
		}
		if _, differ := lines.First(b, b); differ {
			t.Fatal("differs from itself")
		}
	})
}
