package stream_test

import (
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assay-run/assay/api/v1/stream"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// drain reads frames without decoding them and notes how old each one is.
func drain(conn net.Conn, ages chan<- []time.Duration) {
	var all []time.Duration
	buf := make([]byte, 64<<10)
	const mark = `"sent":`
	for {
		n, err := conn.Read(buf)
		if err != nil {
			ages <- all
			return
		}
		now := time.Now().UnixNano()
		for text := string(buf[:n]); ; {
			i := strings.Index(text, mark)
			if i < 0 {
				break
			}
			text = text[i+len(mark):]
			var at int64
			if _, err := fmt.Sscanf(text, "%d", &at); err == nil && at > 1e18 {
				all = append(all, time.Duration(now-at))
			}
		}
	}
}

// BenchmarkHub is 1,000 rich clients and 20 frames a second, for 5 seconds or as many
// as ASSAY_BENCH_SECONDS says. It fails below 20,000 deliveries/s less 2 %, with a
// dropped client, and above 250 ms or 64 KiB a client, both ends counted.
func BenchmarkHub(b *testing.B) {
	const clients, rate = 1000, 20
	seconds := 5
	if n, err := strconv.Atoi(os.Getenv("ASSAY_BENCH_SECONDS")); err == nil && n > 0 {
		seconds = n
	}
	s := start(b, setup{max: clients})
	open := httptest.NewServer(s.hub.Handler()) // the service itself has fewer connections
	defer open.Close()
	s.Addr = open.Listener.Addr().String()
	ages := make(chan []time.Duration, clients)
	before := heap()
	begin, done := make(chan struct{}), sync.WaitGroup{}
	conns := make([]*socket, clients)
	for i := range conns {
		conns[i], _ = s.rich(b)
		done.Go(func() {
			<-begin
			drain(conns[i].conn.NetConn(), ages)
		})
	}
	perClient := (heap() - before) / clients
	close(begin)
	for b.Loop() {
		tick := time.NewTicker(time.Second / rate)
		for range rate * seconds {
			<-tick.C
			s.hub.Publish("equity",
				map[string]any{"sent": time.Now().UnixNano(), "pad": strings.Repeat("x", 300)})
		}
		tick.Stop()
	}
	time.Sleep(time.Second)
	_, dropped := s.hub.Counters()
	for _, c := range conns {
		_ = c.conn.Close()
	}
	done.Wait()
	var all []time.Duration
	for range conns {
		all = append(all, <-ages...)
	}
	slices.Sort(all)
	b.ReportMetric(float64(len(all))/float64(b.N*seconds), "deliveries/s")
	b.ReportMetric(float64(all[len(all)*99/100].Milliseconds()), "p99-ms")
	b.ReportMetric(float64(perClient), "B/client")
	b.ReportMetric(float64(dropped), "dropped")
	if got := len(all) / (b.N * seconds); got < clients*rate*98/100 || dropped > 0 ||
		all[len(all)*99/100] > 250*time.Millisecond || perClient > 64<<10 {
		b.Errorf("%d deliveries/s, %d dropped, p99 %s, %d bytes a client", got, dropped, all[len(all)*99/100],
			perClient)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// BenchmarkPublishBesideDeaf publishes while one client of 64 never reads.
func BenchmarkPublishBesideDeaf(b *testing.B) {
	s := start(b, setup{})
	for i := range stream.MaxClients {
		c, _ := s.rich(b)
		if i > 0 {
			go func() { _, _ = io.Copy(io.Discard, c.conn.NetConn()) }()
		}
	}
	big := strings.Repeat("x", 4000)
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		s.hub.Publish("log", big)
		took = append(took, time.Since(begin))
		time.Sleep(500 * time.Microsecond)
	}
	slices.Sort(took)
	_, dropped := s.hub.Counters()
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(dropped), "dropped")
}

// BenchmarkTick looks at a run of which much is new.
func BenchmarkTick(b *testing.B) {
	x := newScript()
	s := start(b, setup{api: launches(x)})
	s.rich(b)
	s.post(b)
	at := market.Time(0)
	for b.Loop() {
		b.StopTimer()
		for range 200_000 {
			at += 60_000
			x.point(epoch+at, 1)
		}
		x.trade(5000)
		b.StartTimer()
		s.hub.Tick()
	}
}
