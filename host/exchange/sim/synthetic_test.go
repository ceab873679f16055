package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/plugin-sdk/market"
)

var (
	hour    = market.MustTimeframe("1h")
	usual   = mustTime(defaultStart)
	someDay = mustTime("2024-03-05T07:41:12Z")
)

func mustTime(s string) market.Time {
	t, err := market.ParseTime(s)
	if err != nil {
		panic(err)
	}
	return t
}

// The market is part of what a run is about: the same seed gives the same candles in
// every release. These are its first candles, and a hash of many.
func TestGoldenCandles(t *testing.T) {
	first := newSynthetic("1", "BTC/USDT", hour, usual)
	for i, want := range []string{
		"2024-06-06T16:00:00.000Z 30000.00 30000.00 29924.28 29949.07 4.68",
		"2024-06-06T17:00:00.000Z 29949.07 30085.82 29949.07 30085.82 8.05",
		"2024-06-06T18:00:00.000Z 30085.82 30085.82 29974.24 29974.24 1.63",
	} {
		c, _ := first.at(i)
		if got := line(c); got != want {
			t.Errorf("candle %d: %s, want %s", i, got, want)
		}
	}
	for _, g := range []struct {
		seed, symbol, timeframe, sum string
	}{
		{"1", "BTC/USDT", "1h", "e256bd93d56c7684dec1a2d70584f056b3df99a7e8a43d0a8828b71ec2f4fa21"},
		{"1", "ETH/USDT", "1m", "cc489647448826fa080f59269d683e1c529152a4b53e6a503c7598181a915867"},
		{"another seed", "X/EUR", "5s", "a60fbb8c6791595581cfb9aa44b16923616e3d1375e337a84c22ca8964de05b5"},
	} {
		s := newSynthetic(g.seed, market.Symbol(g.symbol), market.MustTimeframe(g.timeframe), usual)
		h := sha256.New()
		for i := range 6000 {
			c, _ := s.at(i)
			fmt.Fprintln(h, line(c))
		}
		if sum := hex.EncodeToString(h.Sum(nil)); sum != g.sum {
			t.Errorf("%s %s %s: %s, want %s", g.seed, g.symbol, g.timeframe, sum, g.sum)
		}
	}
}

func line(c market.Candle) string {
	return fmt.Sprintf("%s %.2f %.2f %.2f %.2f %.2f", c.OpenTime, c.Open, c.High, c.Low, c.Close, c.Volume)
}

// The order of the draws, written out a second time from the package comment.
func TestDraws(t *testing.T) {
	for _, start := range []uint64{10000, 200000} {
		symbol := map[uint64]string{10000: "SOL/USDT", 200000: "ETH/USDT"}[start]
		sum := sha256.Sum256([]byte("assay/rng/v1\x00s\x00sim/candle\x00" + symbol + "\x001h"))
		r := rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])))
		p := int64(start)
		move := func() {
			m := max(p/500, 1)
			p += int64(r.Uint64N(uint64(2*m+1))) - m
			p = max(p, 100)
		}
		s := newSynthetic("s", market.Symbol(symbol), hour, someDay)
		for i := range 2000 {
			if r.Uint64N(16) == 0 {
				move()
			}
			open := p
			high, low := p, p
			for range 4 {
				move()
				high, low = max(high, p), min(low, p)
			}
			v := 1 + r.Uint64N(1000)
			want := market.Candle{OpenTime: s.origin + market.Time(i)*3600_000, Open: float64(open) / 100,
				High: float64(high) / 100, Low: float64(low) / 100, Close: float64(p) / 100,
				Volume: float64(v) / 100}
			want.CloseTime = want.OpenTime + 3600_000
			if got, ok := s.at(i); !ok || got != want {
				t.Fatalf("candle %d: %+v, want %+v", i, got, want)
			}
		}
	}
}

// Candle 5000 is the one in which start lies.
func TestOrigin(t *testing.T) {
	for _, start := range []market.Time{usual, someDay, 1, 3_600_000} {
		s := newSynthetic("1", "A/B", hour, start)
		c, _ := s.at(historyCandles)
		if start < c.OpenTime || start >= c.CloseTime || s.index(c.OpenTime) != historyCandles ||
			s.index(c.OpenTime+1) != historyCandles+1 {
			t.Errorf("start %s: candle 5000 is %s to %s", start, c.OpenTime, c.CloseTime)
		}
	}
	if i := newSynthetic("1", "A/B", hour, usual).index(-1); i != 0 {
		t.Error(i)
	}
}

// Whatever order candles are asked for in, they are the same, and sound.
func TestRandomAccess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.StringMatching(`[a-z0-9]{1,8}`).Draw(t, "seed")
		ordered, other := newSynthetic(seed, "A/B", hour, usual), newSynthetic(seed, "A/B", hour, usual)
		want := make([]market.Candle, 3000)
		for i := range want {
			want[i], _ = ordered.at(i)
			c := want[i]
			if c.Low < 1 || c.High < max(c.Open, c.Close) || c.Low > min(c.Open, c.Close) ||
				c.Volume < 0.01 || c.Volume > 10 {
				t.Fatalf("%+v", c)
			}
		}
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(want)-1), 1, 30).Draw(t, "asked") {
			if got, _ := other.at(i); got != want[i] {
				t.Fatalf("candle %d: %+v, want %+v", i, got, want[i])
			}
		}
	})
}

// A price at the floor stays at or above it and still moves.
func TestFloor(t *testing.T) {
	w := walk{random: *rand.NewPCG(1, 2), price: 103}
	r := rand.New(&w.random)
	seen := map[uint64]bool{}
	for range 5000 {
		w.move(r)
		seen[w.price] = true
		if w.price < floorTicks {
			t.Fatal(w.price)
		}
	}
	if !seen[floorTicks] || len(seen) < 3 {
		t.Error(seen)
	}
}

func BenchmarkSynthetic(b *testing.B) {
	s := newSynthetic("1", "BTC/USDT", hour, usual)
	for i := 0; b.Loop(); i++ {
		s.at(i)
	}
}
