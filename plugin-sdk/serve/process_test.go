package serve_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"github.com/assay-run/assay/host/hosttest/ring"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/indicator"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
	"github.com/assay-run/assay/plugin-sdk/serve"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// pluginVariable makes the test program a plugin.
const pluginVariable = "SERVE_TEST_PLUGIN"

// pluginMain is the main of the plugins of these tests.
func pluginMain() bool {
	switch os.Getenv(pluginVariable) {
	case "":
		return false
	case "bad-tags":
		type bad struct{ A int }
		serve.Strategy(sdk.Spec{Name: "bad"}, func(bad) (sdk.Strategy, error) { return nil, nil })
	case "flood":
		serve.Strategy(sdk.Spec{Name: "flood"}, func(struct{}) (sdk.Strategy, error) { return flood{}, nil })
	default:
		serve.Strategy(sdk.Spec{Name: "cross", Description: "crossing averages"}, newCross)
	}
	return true
}

type flood struct{}

// Printing without a newline fills every pipe that nobody empties line by line.
func (flood) OnCandle(sdk.View) (sdk.Intents, error) {
	fmt.Print(strings.Repeat("x", 10_000))
	fmt.Fprint(os.Stderr, strings.Repeat("y", 10_000))
	return nil, nil
}

type crossParams struct {
	Stake float64 `param:"stake" default:"100" min:"1"`
}

type cross struct {
	fast, slow indicator.SMA
	stake      float64
}

func newCross(p crossParams) (sdk.Strategy, error) {
	return &cross{indicator.NewSMA(10), indicator.NewSMA(30), p.Stake}, nil
}

func (s *cross) Warmup() int { return 30 }

func (s *cross) OnCandle(v sdk.View) (sdk.Intents, error) {
	c := v.Candle()
	s.fast.Add(c.Close)
	s.slow.Add(c.Close)
	switch {
	case v.Flat() && s.fast.CrossedAbove(&s.slow):
		return sdk.Buy(sdk.QuoteAmount(s.stake)), nil
	case v.Long() && s.fast.CrossedBelow(&s.slow):
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

// lockedBuffer collects what a plugin prints.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Len()
}

// launch starts this test program as a plugin process, as a host would.
func launch(t testing.TB, kind string) (*plugin.Client, strategypb.StrategyClient, *lockedBuffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), pluginVariable+"="+kind)
	stderr := &lockedBuffer{}
	client := plugin.NewClient(&plugin.ClientConfig{
		Cmd: cmd, HandshakeConfig: wire.Handshake(), VersionedPlugins: wire.VersionedPlugins(nil),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC}, AutoMTLS: true, Stderr: stderr,
		Logger: hclog.NewNullLogger(), GRPCDialOptions: wire.DialOptions(),
	})
	t.Cleanup(client.Kill)
	protocol, err := client.Client()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := protocol.Dispense(wire.PluginName)
	if err != nil {
		t.Fatal(err)
	}
	return client, raw.(strategypb.StrategyClient), stderr
}

func TestProcessServesRunsAndEnds(t *testing.T) {
	client, strategy, _ := launch(t, "cross")
	n := 50_000
	h := newHost(t, strategy, synth(n))
	h.say(h.start(cosim, `{}`), h.begin(int64(n)), h.dataset())
	out := h.hear()
	if out.err != nil || out.ready.GetWarmupCandles() != 30 {
		t.Fatalf("got %v", out.err)
	}
	if e := h.replay(out); e.Stats().Trades < 500 {
		t.Errorf("%d trades", e.Stats().Trades)
	}
	again := newHost(t, strategy, synth(n))
	again.say(again.start(cosim, `{}`), again.begin(int64(n)), again.dataset())
	if second := again.hear(); second.err != nil || second.last().Watermark != out.last().Watermark ||
		!bytes.Equal(second.last().Digest, out.last().Digest) {
		t.Errorf("the second run is another: %v", second.err)
	}
	client.Kill()
	if !client.Exited() {
		t.Error("the process lives on")
	}
}

func TestPrintingDoesNotHangThePlugin(t *testing.T) {
	_, strategy, stderr := launch(t, "flood")
	h := newHost(t, strategy, synth(100))
	h.say(h.start(cosim, `{}`), h.begin(100), h.dataset())
	if out := h.hear(); out.err != nil || out.last().Watermark != 99 {
		t.Fatalf("got %+v", out)
	}
	// The host reads lines and may hold back the beginning of one.
	for range 100 {
		if stderr.Len() >= 1_900_000 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d bytes arrived at the host's end of stderr", stderr.Len())
}

func TestStartedByHand(t *testing.T) {
	run := func(kind string, args ...string) (stdout, stderr string, code int) {
		var out, errs bytes.Buffer
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), pluginVariable+"="+kind)
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run()
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	if stdout, stderr, code := run("cross"); code != 1 || stdout != "" ||
		!strings.Contains(stderr, "folder of strategies") || !strings.Contains(stderr, "--describe") {
		t.Errorf("%d, %q, %q", code, stdout, stderr)
	}
	stdout, _, code := run("cross", "--describe")
	var d map[string]any
	if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != 0 || d["name"] != "cross" ||
		d["sim_id"] == "" || d["params_schema"] == nil {
		t.Errorf("%d, %v, %s", code, err, stdout)
	}
	if stdout, stderr, code := run("bad-tags"); code != 1 || stdout != "" ||
		!strings.Contains(stderr, "has no param tag") {
		t.Errorf("%d, %q, %q", code, stdout, stderr)
	}
}

// The pipe that a plugin inherits tells it that the host is gone.
func TestPluginEndsWithItsHost(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("pipes are inherited by number on unix only")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cookie := wire.Handshake()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), pluginVariable+"=cross", cookie.MagicCookieKey+"="+cookie.MagicCookieValue,
		"PLUGIN_PROTOCOL_VERSIONS=1", serve.ParentVariable+"=3", "PLUGIN_UNIX_SOCKET_DIR="+t.TempDir())
	cmd.ExtraFiles = []*os.File{r}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stdout, make([]byte, 10)); err != nil { // the handshake
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, stdout); _ = cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Error("the plugin outlives its host")
	}
}

// Memory beside the mapped file does not depend on the length of the run.
func TestMemoryOfALongRun(t *testing.T) {
	ring.Slow(t, "it plays 400,000 candles")
	if runtime.GOOS != "linux" {
		t.Skip("it reads /proc")
	}
	n := 400_000
	client, strategy, _ := launch(t, "cross")
	h := newHost(t, strategy,
		sdktest.Synth(1, n, time.Date(2017, time.January, 1, 0, 0, 0, 0, time.UTC), time.Minute))
	h.say(h.start(cosim, `{}`), h.begin(int64(n)), h.dataset())
	if out := h.hear(); out.err != nil {
		t.Fatal(out.err)
	}
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(client.ReattachConfig().Pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "RssAnon:" {
			kib, err := strconv.Atoi(fields[1])
			if err != nil || kib > 64<<10 {
				t.Errorf("%s KiB of memory: %v", fields[1], err)
			}
			t.Logf("%d KiB", kib)
		}
	}
}

// BenchmarkProcess is a whole co-simulation through a plugin process; the host's
// ledger is not part of it.
func BenchmarkProcess(b *testing.B) {
	n := 1_500_000
	series := sdktest.Synth(1, n, time.Date(2017, time.January, 1, 0, 0, 0, 0, time.UTC), time.Minute)
	path := filepath.Join(b.TempDir(), "x.candles")
	if err := candlefile.Create(path, series); err != nil {
		b.Fatal(err)
	}
	var spent time.Duration
	for b.Loop() {
		client, strategy, _ := launch(b, "cross")
		h := newHost(b, strategy, series)
		began := time.Now()
		h.say(h.start(cosim, `{}`), h.begin(int64(n)), datasetMessage(path, int64(n)))
		if out := h.hear(); out.err != nil {
			b.Fatal(out.err)
		}
		spent += time.Since(began)
		client.Kill()
	}
	b.ReportMetric(float64(b.N)*float64(n)/spent.Seconds()/1e6, "Mcandles/s")
}

// BenchmarkLockstep is round trips to a plugin process.
func BenchmarkLockstep(b *testing.B) {
	_, strategy, _ := launch(b, "cross")
	series := synth(100)
	h := newHost(b, strategy, series)
	st := h.stream
	h.say(h.start(lockstep, `{}`), h.begin(0))
	if _, err := st.Recv(); err != nil {
		b.Fatal(err)
	}
	i := int64(0)
	for b.Loop() {
		c := &strategypb.Candle{OpenTime: i, Open: 1, High: 1, Low: 1, Close: 1, Volume: 1}
		h.say(&strategypb.HostMessage{Message: &strategypb.HostMessage_Step{Step: &strategypb.Step{
			Index: i, CloseTime: i + 1, Candles: []*strategypb.Candle{c},
			Account: &strategypb.AccountView{Cash: 1, Equity: 1},
		}}})
		if _, err := st.Recv(); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
