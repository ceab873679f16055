// Benchapi measures what the API promises under load: the real bin/assay in a process
// of its own, a client beside it, both over loopback. Figures that depend on the
// machine stand beside the same load on a bare net/http server, measured in the same
// run. The program fails when a floor is missed.
//
// It needs what `make build` puts into bin/. It imports host and plugin-sdk to fill
// the service's candle store, and speaks to everything else over TCP only.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "the folder that make build fills")
	flag.IntVar(&o.requests, "requests", 100_000, "requests of GET /status")
	flag.IntVar(&o.points, "points", 500_000, "equity points of /results")
	full := flag.Bool("full", false, "a million requests instead")
	bare := flag.Bool("bare", false, "be the bare server (used by the program itself)")
	flag.Parse()
	if *bare {
		serveBare()
		return
	}
	if *full {
		o.requests = 1_000_000
	}
	missed, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchapi:", err)
	}
	if err != nil || missed > 0 {
		os.Exit(1)
	}
}

type options struct {
	bin              string
	requests, points int
}

// report prints figures beside their floors and counts those that are missed.
type report struct{ missed int }

// atMost prints a figure that must not exceed its limit.
func (r *report) atMost(name string, got, limit float64, unit string) {
	r.line(name, fmt.Sprintf("%.3g %s", got, unit), fmt.Sprintf("<= %g %s", limit, unit), got <= limit)
}

// atLeast prints a figure that must reach its floor.
func (r *report) atLeast(name string, got, floor float64, unit string) {
	r.line(name, fmt.Sprintf("%.5g %s", got, unit), fmt.Sprintf(">= %g %s", floor, unit), got >= floor)
}

func (r *report) line(name, got, want string, ok bool) {
	verdict := "ok"
	if !ok {
		verdict = "MISSED"
		r.missed++
	}
	fmt.Printf("%-52s %16s   %-14s %s\n", name, got, want, verdict)
}

func (r *report) note(name, format string, args ...any) {
	fmt.Printf("%-52s %16s\n", name, fmt.Sprintf(format, args...))
}

func run(o options) (missed int, err error) {
	fmt.Printf("%s, %d processors, %s/%s\n\n", runtime.Version(), runtime.NumCPU(), runtime.GOOS,
		runtime.GOARCH)
	s, err := startService(o)
	if err != nil {
		return 0, err
	}
	defer func() {
		if e := s.stop(); err == nil {
			err = e
		}
	}()
	r := &report{}
	for _, measure := range []func(*service, options, *report) error{status, validation, results, stream} {
		if err := measure(s, o, r); err != nil {
			return r.missed, err
		}
	}
	return r.missed, nil
}

const mib = 1 << 20

// status loads GET /status with 32 connections, before that a bare server with the
// same answer.
func status(s *service, o options, r *report) error {
	get := "GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n"
	bare, err := startBare()
	if err != nil {
		return err
	}
	base, err := load(bare.addr, get, 32, o.requests/4)
	bare.kill()
	if err != nil {
		return fmt.Errorf("bare server: %w", err)
	}
	if _, err := load(s.addr, get, 32, 20_000); err != nil { // so that pools and heap have their size
		return err
	}
	before, err := s.heap()
	if err != nil {
		return err
	}
	got, err := load(s.addr, get, 32, o.requests)
	if err != nil {
		return err
	}
	after, err := s.heap()
	if err != nil {
		return err
	}
	r.atLeast("GET /status, 32 connections", got.rate, 8000, "/s")
	r.note("  share of a bare net/http server", "%.0f %%", 100*got.rate/base.rate)
	r.atMost("  p99", ms(got.p99), 20, "ms")
	r.atMost(fmt.Sprintf("  heap growth over %d requests", o.requests), (after-before)/mib, 8, "MiB")
	return nil
}

// validation sends bodies that are refused: a normal one and the worst of 1 MiB.
func validation(s *service, _ options, r *report) error {
	normal := post(
		`{"strategy_name":"nobody","strategy_params":{"fast":10,"slow":30},"symbols":["BTC/USDT"],` +
			`"timeframe":"1h","initial_cash":10000,"execution":{"slippage_bps":5}}`)
	got, err := load(s.addr, normal, 1, 5000)
	if err != nil {
		return err
	}
	r.atMost("POST /run/backtest, normal body, p99", ms(got.p99), 2, "ms")
	for _, w := range worstBodies() {
		var usual time.Duration
		used, err := s.memory(func() error {
			got, err := load(s.addr, post(w.text), 1, 7)
			usual = got.median
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		r.atMost("  1 MiB of "+w.name, ms(usual), 250, "ms")
		r.note("    times json.Unmarshal of it, here", "%.2f", float64(usual)/float64(decode(w.text)))
		r.atMost("    memory", used/mib, 64, "MiB")
	}
	return nil
}

// decode returns how long encoding/json takes for a text in this process.
func decode(text string) time.Duration {
	var v any
	began := time.Now()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(err) // the texts are JSON
	}
	return time.Since(began)
}

type worst struct{ name, text string }

// worstBodies are bodies of 1 MiB that are dear to read, each in its way.
func worstBodies() []worst {
	fill := func(head, unit, tail string) string {
		n := (1<<20 - len(head) - len(tail)) / len(unit)
		return head + strings.TrimSuffix(strings.Repeat(unit, n), ",") + tail
	}
	base := `{"strategy_name":"sma_cross","symbols":["BTC/USDT"],"timeframe":"1h"`
	keys := func(head, format, tail string) string {
		var b strings.Builder
		b.WriteString(head)
		for i := 0; b.Len() < 1<<20-64; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String() + tail
	}
	head := `{"strategy_name":"x","timeframe":"1h","symbols":[`
	return []worst{
		{"numbers", fill(head, "1,", "]}")},
		{"empty lists", fill(head, "[],", "]}")},
		{"equal symbols", fill(head, `"A/B",`, "]}")},
		{"unknown keys", keys(base, `,"k%x":0`, "}")},
		{"unknown objects", keys(base, `,"k%x":{"a":{}}`, "}")},
		{"unknown execution options", keys(base+`,"execution":{"a":0`, `,"k%x":0`, "}}")},
		{"unknown parameters", keys(base+`,"strategy_params":{"a":0`, `,"k%x":0`, "}}")},
		{"params", fill(
			`{"strategy_name":"nobody","symbols":["A/B"],"timeframe":"1h","strategy_params":{"a":[`, "{},",
			"]}}")},
		{"escapes", fill(`{"symbols":["A/B"],"timeframe":"1h","strategy_name":"`, `\u00e9`, `"}`)},
		{"nesting", fill(`{"symbols":[`, strings.Repeat("[", 60)+strings.Repeat("]", 60)+",", "]}")},
	}
}

// results reads a run of many equity points.
func results(s *service, o options, r *report) error {
	if err := s.backtest(s.large(o)); err != nil {
		return err
	}
	for _, c := range []struct {
		name, header       string
		first, all, memory float64 // floors, 0: none
	}{
		{"plain", "", 200, 2500, 32},
		{"gzip", "Accept-Encoding: gzip\r\n", 200, 2500, 32},
		{"points=2000", "Prefer: points=2000, rows=100\r\n", 0, 50, 0},
	} {
		var got figures
		used, err := s.memory(func() (err error) {
			got, err = load(s.addr, "GET /api/v1/results HTTP/1.1\r\nHost: localhost\r\n"+c.header+"\r\n", 1,
				3)
			return err
		})
		if err != nil {
			return err
		}
		name := fmt.Sprintf("GET /results, %d points, %s", o.points, c.name)
		r.atMost(name, ms(got.median), c.all, "ms")
		r.note("  bytes", "%.4g MiB", float64(got.bytes)/float64(got.count)/mib)
		if c.first > 0 {
			r.atMost("  first byte", ms(got.first), c.first, "ms")
		}
		if c.memory > 0 {
			r.atMost("  memory", used/mib, c.memory, "MiB")
		}
	}
	return s.call(http.MethodDelete, "/run/reset", nil, nil)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
