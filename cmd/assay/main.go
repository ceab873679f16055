// Command assay is the run-control service: it reads its configuration, opens what
// the host keeps in the state directory, finds the strategy plugins and serves the
// API until it is told to stop.
//
// The exit code is 0 after SIGINT or SIGTERM, 1 when something failed, 2 when the
// configuration is refused and 130 after a second signal.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/exchange/wire"
)

// Set by the linker.
var (
	version = "0.0.0"
	commit  = ""
)

// The exit codes.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitSignals = 130
)

func main() {
	// Credentials of live runs pass through this memory.
	if err := wire.DisableDump(); err != nil {
		fmt.Fprintf(os.Stderr, "assay: %v\n", err)
		os.Exit(exitFailed)
	}
	os.Exit(runCommand(os.Args[1:], world{env: os.LookupEnv, out: os.Stdout, err: os.Stderr}))
}

// world is what the program sees of its surroundings.
type world struct {
	env      func(string) (string, bool)
	out, err io.Writer
}

func runCommand(args []string, w world) int {
	cfg, done, err := readConfig(args, w)
	if done {
		return exitDone
	}
	if err == nil {
		err = serve(context.Background(), cfg, w)
	}
	var usage *usageError
	var bind *edge.BindError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage), errors.As(err, &bind):
		fmt.Fprintf(w.err, "assay: %v\n", err)
		return exitUsage
	}
	fmt.Fprintf(w.err, "assay: %v\n", err)
	return exitFailed
}

// watchSignals ends the context with the first SIGINT or SIGTERM, and the process with the
// second.
func watchSignals(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	events, done := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(events, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer close(done)
		if _, ok := <-events; !ok {
			return
		}
		cancel()
		if _, ok := <-events; ok {
			os.Exit(exitSignals)
		}
	}()
	return ctx, func() {
		signal.Stop(events)
		close(events)
		<-done
		cancel()
	}
}

// serverID returns a lower-case ULID: the time in milliseconds and 80 random bits.
func serverID(now time.Time) (string, error) {
	var b [20]byte // 4 zero bytes in front make 32 characters, of which the last 26 count
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		b[9-i] = byte(ms >> (8 * i))
	}
	if _, err := rand.Read(b[10:]); err != nil {
		return "", err
	}
	return strings.ToLower(base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").EncodeToString(b[:])[6:]),
		nil
}

const demoRequest = `{"strategy_name":"sma_cross","strategy_params":{"fast":10,"slow":30},` +
	`"symbols":["BTC/USDT"],"timeframe":"1h","exchange":"sample"}`

// demonstrate goes through the API like any client: health, a backtest on the
// bundled candles, its status until the end, its results.
func demonstrate(ctx context.Context, base string, out io.Writer) error {
	c := demoClient{base: base + "/api/v1", http: &http.Client{}}
	defer c.http.CloseIdleConnections()
	var health struct{ Status string }
	if _, err := c.call(ctx, http.MethodGet, "/health", "", nil, &health); err != nil {
		return err
	}
	var run struct{ Message string }
	if _, err := c.call(ctx, http.MethodPost, "/run/backtest", demoRequest, nil, &run); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nservice is %s\n%s\n", health.Status, run.Message)
	if err := c.wait(ctx); err != nil {
		return err
	}
	var results demoResults
	if _, err := c.call(ctx, http.MethodGet, "/results", "", http.Header{"Prefer": {"points=2, rows=0"}},
		&results); err != nil {
		return err
	}
	if results.Status != "completed" {
		return fmt.Errorf("the run %s: %s", results.Status, results.Error)
	}
	if err := results.print(out); err != nil {
		return err
	}
	fmt.Fprintf(out, "\ndocumentation: %s/docs\ndashboard: %s/ui\n", base, base)
	return nil
}

type demoClient struct {
	base string
	http *http.Client
}

// wait follows the run with long polls until it has ended.
func (c demoClient) wait(ctx context.Context) error {
	header := http.Header{"Prefer": {"wait=10"}}
	for {
		var s struct{ Status string }
		tag, err := c.call(ctx, http.MethodGet, "/status", "", header, &s)
		if err != nil {
			return err
		}
		if s.Status != "running" {
			return nil
		}
		header.Set("If-None-Match", tag)
	}
}

// call sends one request and returns the entity tag of the answer.
func (c demoClient) call(ctx context.Context, method, path, body string, header http.Header,
	into any) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewBufferString(body))
	if err != nil {
		return "", err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		var e struct {
			Error struct{ Code, Message string }
		}
		if err := json.NewDecoder(resp.Body).Decode(&e); err != nil {
			return "", fmt.Errorf("%s %s: %s", method, path, resp.Status)
		}
		return "", fmt.Errorf("%s %s: %s: %s", method, path, e.Error.Code, e.Error.Message)
	}
	return resp.Header.Get("ETag"), json.NewDecoder(resp.Body).Decode(into)
}

type demoResults struct {
	Status      string
	Error       string
	InitialCash json.Number `json:"initial_cash"`
	FinalValue  json.Number `json:"final_value"`
	ResultHash  string      `json:"result_hash"`
	Artifacts   string
	Metrics     map[string]*float64 `json:"performance_metrics"`
	Undefined   []string            `json:"performance_metrics_undefined"`
	Config      struct {
		Window struct {
			Start, End string
			Candles    int64
		}
	}
}

// print shows what people ask first.
func (r *demoResults) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "\nwindow\t%s to %s\n", r.Config.Window.Start, r.Config.Window.End)
	fmt.Fprintf(w, "candles\t%d\n", r.Config.Window.Candles)
	fmt.Fprintf(w, "initial cash\t%s\n", r.InitialCash)
	fmt.Fprintf(w, "final value\t%s\n", r.FinalValue)
	for _, row := range []struct{ key, name, format string }{
		{"total_return", "total return", "%.2f %%"}, {"buy_hold_return", "buy and hold return", "%.2f %%"},
		{"max_drawdown", "max drawdown", "%.2f %%"}, {"win_rate", "win rate", "%.2f %%"},
		{"sharpe_ratio", "Sharpe ratio", "%.4f"}, {"total_trades", "trades", "%.0f"},
		{"fees_paid", "fees paid", "%.2f"},
	} {
		value := r.Metrics[row.key]
		if value == nil || slices.Contains(r.Undefined, row.key) {
			fmt.Fprintf(w, "%s\tn/a\n", row.name)
			continue
		}
		shown := *value
		if strings.HasSuffix(row.format, "%%") {
			shown *= 100
		}
		fmt.Fprintf(w, "%s\t"+row.format+"\n", row.name, shown)
	}
	// The demonstration plays all bundled candles.
	fmt.Fprintf(w, "hold-out\tplayed, too: this run counts as a look (lab data holdout)\n")
	fmt.Fprintf(w, "result hash\t%s\n", r.ResultHash)
	fmt.Fprintf(w, "files\t%s in the state directory\n", r.Artifacts)
	return w.Flush()
}
