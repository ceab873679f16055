package link

import (
	"sync"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// chunkBytes bounds a chunk, so that all that may be on the way at once fit into the
// window of the transport.
const chunkBytes = 3 << 19

// stepBytes and rowBytes are what a step takes in a chunk, and a candle in a step:
// the open time and five prices, and its bit.
const (
	stepBytes = 8
	rowBytes  = 6*8 + 1
)

// ChunkSteps is how many steps a chunk has in a run of this many symbols.
func ChunkSteps(symbols int) int {
	return max(1, min(wire.ChunkSteps, chunkBytes/(stepBytes+rowBytes*symbols)))
}

// Candles hands over the candles of a co-simulation in messages. It is never more
// than wire.ChunksAhead chunks ahead of the plugin's watermark, which bounds the
// memory of a run on both sides.
type Candles struct {
	stream  *Stream
	feed    sim.Feed
	symbols int
	total   int64 // steps
	chunk   int   // steps

	mu        sync.Mutex
	moved     *sync.Cond
	watermark int64 // last step decided; -1 before the first
	over      bool
	done      chan struct{}
}

// SendCandles begins to send a feed of so many steps, which it reads alone until it
// ends. Wait must be called before the data are given back.
func SendCandles(s *Stream, feed sim.Feed, symbols int, total int64) *Candles {
	c := &Candles{
		stream: s, feed: feed, symbols: symbols, total: total, chunk: ChunkSteps(symbols), watermark: -1, done: make(chan struct{}),
	}
	c.moved = sync.NewCond(&c.mu)
	go func() {
		defer close(c.done)
		c.send()
	}()
	return c
}

// Advanced says how far the plugin has come.
func (c *Candles) Advanced(watermark int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watermark = watermark
	c.moved.Signal()
}

// Stop begins no further chunk. One that is being sent may still be on its way.
func (c *Candles) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.moved.Signal()
}

// Wait returns when the feed is no longer read. Call Stop and close the stream before.
func (c *Candles) Wait() { <-c.done }

// send sends chunk after chunk. Why a message cannot be sent is known to the reader of
// the stream.
func (c *Candles) send() {
	w := wire.CandlesWriter{Steps: c.chunk}
	b := sim.Batch{Candles: make([]market.Candle, c.symbols), Closed: make([]bool, c.symbols)}
	for sent := int64(0); sent < c.total; {
		n := min(int64(c.chunk), c.total-sent)
		if !c.room(sent + n) {
			return
		}
		for range n {
			if more, err := c.feed.Next(&b); err != nil || !more {
				return // the host's own engine comes to the same end
			}
			w.Add(b.CloseTime, b.Candles, b.Closed)
		}
		sent += n
		m := &strategypb.HostMessage_Candles{Candles: w.Message(sent == c.total)}
		if err := c.stream.Send(&strategypb.HostMessage{Message: m}); err != nil {
			return
		}
	}
}

// room waits until the steps before end may be sent; false says that no more are wanted.
func (c *Candles) room(end int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.over && end-(c.watermark+1) > wire.ChunksAhead*int64(c.chunk) {
		c.moved.Wait()
	}
	return !c.over
}
