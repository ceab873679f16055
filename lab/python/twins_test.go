package python_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/python"
)

// TestTwins: the bundled strategies, written in Python, lead to the books that they lead to in Go, in each way
// to drive them.
func TestTwins(t *testing.T) {
	ring.Proof(t, "it builds bundled strategies, and plays them and their twins")
	text, err := os.ReadFile("testdata/twins/strategies.py")
	if err != nil {
		t.Fatal(err)
	}
	source, out := t.TempDir(), t.TempDir()
	write(t, source, map[string]string{"strategies.py": string(text),
		"pyproject.toml": "[project]\ndependencies = [\"pandas\"]\n"})
	twins := []struct{ twin, class, name string }{
		{"sma_py", "SmaCross", "sma_cross"}, {"sma_columns", "SmaSignals", "sma_cross"},
		{"hold_py", "BuyHold", "buy_hold"}, {"breakout_py", "Breakout", "breakout"},
		{"rsi_py", "RsiBracket", "rsi_bracket"}, {"limit_py", "LimitEntry", "limit_entry"},
		{"daily_py", "DailyTrend", "daily_trend"}, {"calm_py", "CalmFunding", "calm_funding"},
		{"pairs_py", "Pairs", "pairs"},
	}
	for _, w := range twins {
		if _, _, err := python.Build(t.Context(), python.Options{Dir: source, Name: w.twin,
			Entry: "strategies:" + w.class, Out: out, Interpreter: interpreter(t)}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(out, w.name)
		if _, err := os.Stat(path); err == nil {
			continue
		}
		build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", path,
			"../../strategies/"+w.name)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	l := hosted(t, out)
	storeInput(t, l, "funding")
	for _, w := range twins {
		p := playing{to: "2020-05-01T00:00:00Z", free: true}
		if w.name == "pairs" {
			p.symbols, p.timeframe, p.to = []string{"BTC/USDT", "ETH/USDT"}, "1d", "2022-02-01T00:00:00Z"
		}
		digest := func(name string, d run.Drive) (string, int) {
			p.name, p.split.Drive = name, d
			x, o := p.play(t, l)
			if o.Failure != nil {
				t.Fatalf("%s: %+v", name, o.Failure)
			}
			return x.Digest(), len(x.Results().Fills)
		}
		want, fills := digest(w.name, run.Drive{})
		if got, n := digest(w.twin, run.Drive{}); got != want || fills == 0 {
			t.Errorf("%s has %d fills, %s has %d", w.twin, n, w.name, fills)
		}
		if got, n := digest(w.twin, run.Drive{Lockstep: true}); got != want {
			t.Errorf("%s step by step has %d fills, %s has %d", w.twin, n, w.name, fills)
		}
	}
}
