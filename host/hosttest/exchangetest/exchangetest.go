// Package exchangetest has what tests put before and behind a connection: Over puts it behind the
// wire without a process, so that the tests of a connector can look at it as the host does, and
// Script is a stream of candles with everything that may go wrong in one.
package exchangetest

import (
	"context"
	"math"
	"math/rand/v2"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/wire"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Over returns the connection as a host sees it: served with its guard over gRPC in memory.
// When the test is over the host is gone, and Over waits for the server.
func Over(t testing.TB, conn exchange.Connection) exchange.Connection {
	t.Helper()
	client, stop := Dial(t, func(s *grpc.Server) { wire.Register(s, conn, nil) }, wire.ClientOptions{})
	t.Cleanup(stop)
	return exchange.Connection{Connector: client}
}

// Dial returns a client of what register registers. It ends with stop.
func Dial(t testing.TB, register func(*grpc.Server), o wire.ClientOptions) (*wire.Client, func()) {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	s := grpc.NewServer(grpc.MaxRecvMsgSize(wire.MaxMessageBytes), grpc.WaitForHandlers(true))
	register(s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(listener)
	}()
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		}))
	if err != nil {
		t.Fatal(err)
	}
	client := wire.NewClient(conn, o)
	return client, func() {
		client.Release()
		_ = conn.Close()
		s.Stop()
		<-done
	}
}

// Symbols is how many symbols a script can have.
const Symbols = 2

// Kinds are the faults by name, as Script counts them.
func Kinds() []string {
	return []string{"gap", "long gap", "duplicate", "late", "corrected", "silence", "reorder", "broken",
		"cut"}
}

// Script makes of each candle that closes what a bad stream makes of it.
type Script struct {
	Random *rand.Rand
	// Span is the length of a candle.
	Span market.Time
	// LongGap is how many candles a long gap lacks at most.
	LongGap int
	// Odds: one candle in so many meets each fault. At least as many as there are Kinds.
	Odds int
	// Faults counts what was done, by name.
	Faults map[string]int
	// Send hands an event over now, Later after a while of the venue's time.
	Send  func(exchange.CandleEvent)
	Later func(wait market.Time, e exchange.CandleEvent)

	quiet  [Symbols]int // candles of a symbol still to be swallowed
	broken [Symbols]int // candles of a symbol since one was sent whole
	held   [Symbols]*exchange.CandleEvent
}

// Candle returns the candle of symbol i that closed. It reports whether any of it was sent.
func (s *Script) Candle(i int, e exchange.CandleEvent) bool {
	if s.quiet[i] > 0 {
		s.quiet[i]--
		return false
	}
	if h := s.held[i]; h != nil {
		s.held[i] = nil
		s.Send(e)
		s.Send(*h)
		return true
	}
	fault := s.Random.IntN(s.Odds)
	if fault >= len(Kinds()) || (fault == 1 && s.Random.IntN(4) > 0) {
		s.Send(e)
		return true
	}
	s.Faults[Kinds()[fault]]++
	return s.commit(i, Kinds()[fault], e)
}

// Plain sends a candle as it is; what was held back or swallowed is forgotten.
func (s *Script) Plain(i int, e exchange.CandleEvent) {
	s.quiet[i], s.held[i] = 0, nil
	s.Send(e)
}

func (s *Script) commit(i int, fault string, e exchange.CandleEvent) bool {
	switch fault {
	case "gap":
		s.quiet[i] = s.Random.IntN(5)
		return false
	case "long gap":
		s.quiet[i] = s.Random.IntN(s.LongGap)
		return false
	case "duplicate":
		for range 1 + s.Random.IntN(3) {
			s.Send(e)
		}
		s.Send(e)
	case "late":
		s.Later(market.Time(s.Random.Int64N(int64(s.Span)*3/2)), e)
		return false
	case "corrected":
		s.Send(e)
		e.Candle.High += 7
		s.Send(e)
	case "silence":
		s.quiet = [Symbols]int{s.Random.IntN(8), s.Random.IntN(8)}
		return false
	case "reorder":
		s.held[i] = &e
		return false
	case "broken":
		s.Send(s.breakCandle(e))
		if s.broken[i]++; s.Random.IntN(2) == 0 || s.broken[i] == 2 { // a third in a row would end the run
			s.broken[i] = 0
			s.Send(e)
		}
	case "cut":
		s.Send(exchange.CandleEvent{State: exchange.Reconnecting, Reason: "cut"})
		s.quiet[i] = s.Random.IntN(3)
		s.Send(exchange.CandleEvent{State: exchange.Connected})
	}
	return true
}

func (s *Script) breakCandle(e exchange.CandleEvent) exchange.CandleEvent {
	c := &e.Candle
	switch s.Random.IntN(6) {
	case 0:
		c.Close = math.NaN()
	case 1:
		c.High, c.Low = c.Low, c.High
	case 2:
		c.Volume = -1
	case 3:
		c.OpenTime += 500
	case 4:
		c.Low = -c.Low
	default:
		c.OpenTime, c.CloseTime = c.OpenTime+1000*s.Span, c.CloseTime+1000*s.Span // not closed
	}
	return e
}
