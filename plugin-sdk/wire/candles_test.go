package wire_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

type candleStep struct {
	at      market.Time
	candles []market.Candle
	closed  []bool
}

func candleSteps(n int) []candleStep {
	random := rand.New(rand.NewPCG(1, 2))
	last := make([]market.Candle, 2)
	steps := make([]candleStep, n)
	for i := range steps {
		s := candleStep{at: market.Time(60000 * (i + 1)), closed: []bool{random.IntN(3) > 0, true}}
		for k := range last {
			if s.closed[k] {
				x := random.Float64()
				last[k] = market.Candle{OpenTime: s.at - 60000, CloseTime: s.at, Open: x, High: x + 1,
					Low: x / 2, Close: x + 0.5, Volume: float64(i)}
			}
		}
		s.candles = append(s.candles, last...)
		steps[i] = s
	}
	return steps
}

func TestCandlesTravelInChunks(t *testing.T) {
	want := candleSteps(50)
	var w wire.CandlesWriter
	var chunks []*strategypb.Candles
	for i, s := range want {
		w.Add(s.at, s.candles, s.closed)
		if w.Len() == 17 || i == len(want)-1 {
			chunks = append(chunks, w.Message(i == len(want)-1))
		}
	}
	if len(chunks) != 3 || chunks[1].FirstStep != 17 || chunks[1].Last || !chunks[2].Last {
		t.Fatalf("%d chunks", len(chunks))
	}
	if chunks[0].Symbols[0].Present == nil || chunks[0].Symbols[1].Present != nil {
		t.Error("only a column with gaps needs the bitmap")
	}
	r := wire.NewCandlesReader(2)
	candles, closed := make([]market.Candle, 2), make([]bool, 2)
	for _, chunk := range chunks {
		if err := r.Load(chunk); err != nil {
			t.Fatal(err)
		}
		for {
			at, ok := r.Next(candles, closed)
			if !ok {
				break
			}
			got := candleStep{at, candles, closed}
			if !reflect.DeepEqual(got, want[0]) {
				t.Fatalf("got %+v, want %+v", got, want[0])
			}
			want = want[1:]
		}
	}
	if len(want) != 0 {
		t.Errorf("%d steps are missing", len(want))
	}
	if m := w.Message(true); m.FirstStep != 50 || len(m.CloseTimes) != 0 || r.Load(m) != nil {
		t.Error("an empty last chunk is legal")
	}
}

func TestBadChunksAreRefused(t *testing.T) {
	good := func() *strategypb.Candles {
		var w wire.CandlesWriter
		for _, s := range candleSteps(10) {
			w.Add(s.at, s.candles, s.closed)
		}
		return proto.Clone(w.Message(true)).(*strategypb.Candles)
	}
	cases := []struct {
		field  string
		change func(*strategypb.Candles)
	}{
		{"first_step", func(c *strategypb.Candles) { c.FirstStep = 1 }},
		{"close_times[1]", func(c *strategypb.Candles) { c.CloseTimes[1] = c.CloseTimes[0] }},
		{"symbols", func(c *strategypb.Candles) { c.Symbols = c.Symbols[1:] }},
		{"symbols[0].present", func(c *strategypb.Candles) {
			c.Symbols[0].Present = c.Symbols[0].Present[1:]
		}},
		{"symbols[0].open_time", func(c *strategypb.Candles) { c.Symbols[0].Present = nil }},
		{"symbols[1].volume", func(c *strategypb.Candles) { c.Symbols[1].Volume = c.Symbols[1].Volume[1:] }},
		{"symbols[1].close", func(c *strategypb.Candles) {
			copy(c.Symbols[1].Close, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x7f})
		}},
	}
	if err := wire.NewCandlesReader(2).Load(good()); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		chunk := good()
		c.change(chunk)
		refused(t, c.field, wire.NewCandlesReader(2).Load(chunk))
	}
}

func BenchmarkCandles(b *testing.B) {
	steps := candleSteps(wire.ChunkSteps)
	candles, closed := make([]market.Candle, 2), make([]bool, 2)
	for b.Loop() {
		var w wire.CandlesWriter
		for i := range steps {
			w.Add(steps[i].at, steps[i].candles, steps[i].closed)
		}
		r := wire.NewCandlesReader(2)
		if err := r.Load(w.Message(true)); err != nil {
			b.Fatal(err)
		}
		for ok := true; ok; {
			_, ok = r.Next(candles, closed)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(2*len(steps)), "ns/candle")
}
