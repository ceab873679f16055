package run

import (
	"context"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// taker is a plugin's end of the stream that takes messages when it is asked to.
type taker struct {
	grpc.ClientStream
	ctx  context.Context
	sent chan *strategypb.HostMessage
}

func (t *taker) Send(m *strategypb.HostMessage) error {
	select {
	case t.sent <- m:
		return nil
	case <-t.ctx.Done():
		return io.EOF
	}
}

func (t *taker) Recv() (*strategypb.PluginMessage, error) {
	<-t.ctx.Done()
	return nil, t.ctx.Err()
}

func (t *taker) Run(ctx context.Context, _ ...grpc.CallOption) (strategypb.Strategy_RunClient, error) {
	t.ctx = ctx
	return t, nil
}

func (t *taker) Describe(context.Context, *strategypb.DescribeRequest,
	...grpc.CallOption) (*strategypb.Spec, error) {
	return &strategypb.Spec{}, nil
}

// open returns a stream to a taker with so much room.
func open(t *testing.T, room int) (*Stream, *taker) {
	t.Helper()
	plugin := &taker{sent: make(chan *strategypb.HostMessage, room)}
	s, err := OpenStream(context.Background(), plugin, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, plugin
}

// series are candles of several symbols, some of which have gaps.
func series(symbols, steps int) []*market.Series {
	random := rand.New(rand.NewPCG(1, 2))
	list := make([]*market.Series, symbols)
	for i := range list {
		list[i] = &market.Series{Timeframe: market.MustTimeframe("1m")}
		for k := range steps {
			if i == 0 || random.IntN(5) > 0 {
				x := random.Float64()
				list[i].Append(market.Candle{OpenTime: market.Time(k) * 60_000, Open: x, High: x + 1,
					Low: x / 2, Close: x, Volume: 1})
			}
		}
	}
	return list
}

func TestCandlesArriveAsTheyAre(t *testing.T) {
	for _, test := range []struct {
		symbols, steps int
	}{{1, 3*wire.ChunkSteps + 1}, {1, wire.ChunkSteps}, {3, 40_000}, {40, 5000}} {
		s, plugin := open(t, 100)
		list := series(test.symbols, test.steps)
		c := SendCandles(s, sim.NewSeriesFeed(list), test.symbols, int64(test.steps))
		c.Advanced(int64(test.steps)) // nothing holds it back
		reader := wire.NewCandlesReader(test.symbols)
		want := sim.NewSeriesFeed(list)
		a := sim.Batch{Candles: make([]market.Candle, test.symbols), Closed: make([]bool, test.symbols)}
		b := sim.Batch{Candles: make([]market.Candle, test.symbols), Closed: make([]bool, test.symbols)}
		steps := 0
		for last := false; !last; {
			m := (<-plugin.sent).GetCandles()
			if size := proto.Size(m); size > chunkBytes {
				t.Fatalf("%d symbols: a chunk has %d bytes", test.symbols, size)
			}
			if err := reader.Load(m); err != nil {
				t.Fatal(err)
			}
			for {
				at, ok := reader.Next(a.Candles, a.Closed)
				if !ok {
					break
				}
				if more, err := want.Next(&b); !more || err != nil || b.CloseTime != at {
					t.Fatalf("step %d closes at %s, not %s (%v)", steps, at, b.CloseTime, err)
				}
				for i := range a.Closed {
					if a.Closed[i] != b.Closed[i] || a.Closed[i] && a.Candles[i] != b.Candles[i] {
						t.Fatalf("step %d: %+v, not %+v", steps, a.Candles[i], b.Candles[i])
					}
				}
				steps++
			}
			last = m.GetLast()
		}
		if steps != test.steps {
			t.Errorf("%d steps of %d", steps, test.steps)
		}
		c.Wait()
		s.Close()
	}
}

// TestCandlesKeepTheirDistance: no chunk is sent that ends too far beyond the
// watermark, and every one that may be is.
func TestCandlesKeepTheirDistance(t *testing.T) {
	const steps = 30 * wire.ChunkSteps
	s, plugin := open(t, 100)
	c := SendCandles(s, sim.NewSeriesFeed(series(1, steps)), 1, steps)
	sent, mark := int64(0), int64(-1)
	for _, next := range []int64{-1, 100, wire.ChunkSteps - 1, 5*wire.ChunkSteps + 7, steps - 1} {
		c.Advanced(next)
		mark = next
		want := min(int64(steps), (mark+1)/wire.ChunkSteps*wire.ChunkSteps+wire.ChunksAhead*wire.ChunkSteps)
		for sent < want {
			select {
			case m := <-plugin.sent:
				sent += int64(len(m.GetCandles().GetCloseTimes()))
			case <-time.After(5 * time.Second):
				t.Fatalf("watermark %d: only %d of %d steps came", mark, sent, want)
			}
		}
		select {
		case <-plugin.sent:
			t.Fatalf("watermark %d: more than %d steps came", mark, sent)
		case <-time.After(20 * time.Millisecond):
		}
	}
	c.Wait()
	s.Close()
}

// TestCandlesEnd: neither a plugin that takes nothing nor one that does not advance
// keeps a run from its end.
func TestCandlesEnd(t *testing.T) {
	for _, room := range []int{0, 100} {
		s, _ := open(t, room)
		c := SendCandles(s, sim.NewSeriesFeed(series(1, 200_000)), 1, 200_000)
		time.Sleep(20 * time.Millisecond)
		c.Stop()
		s.Post(&strategypb.HostMessage{})
		done := make(chan struct{})
		go func() { defer close(done); s.Close(); c.Wait() }()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			t.Fatalf("room for %d messages: it goes on", room)
		}
	}
}
