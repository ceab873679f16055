package testvenue_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/hosttest/testvenue"
)

const referees = "testdata/referee"

// TestProveReferees lets public clients trade on the venue: what they read of orders and
// trades is what the venue did.
func TestProveReferees(t *testing.T) {
	ring.Proof(t, "it installs Python packages") // it installs Python packages
	interpreter := hosttest.Python(t, filepath.Join(referees, "requirements.txt"))
	for script, least := range map[string]int{"with_ccxt.py": 130, "with_python_binance.py": 600} {
		t.Run(script, func(t *testing.T) {
			v := start(t, testvenue.Options{Speed: 20, Cash: "100000", History: 2000})
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, interpreter, script, v.URL(), v.ScriptURL()+"/scripts",
				testvenue.DefaultKey, testvenue.DefaultSecret)
			cmd.Dir, cmd.Env = referees, append(os.Environ(), hosttest.CompiledPython(t))
			var said, complaint bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &complaint
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s%s", err, said.String(), complaint.String())
			}
			var read struct {
				Checks, Orders int
				Traded         map[string]decimal.Decimal
			}
			if err := json.Unmarshal(said.Bytes(), &read); err != nil {
				t.Fatalf("%v in %s", err, said.String())
			}
			if read.Checks < least {
				t.Errorf("%d checks, want at least %d", read.Checks, least)
			}
			if n := len(v.Orders()); n != read.Orders || n == 0 {
				t.Errorf("the client read %d orders, the venue has %d", read.Orders, n)
			}
			traded := map[string]decimal.Decimal{}
			for _, trade := range v.Trades() {
				name := strings.ReplaceAll(trade.Symbol, "/", "")
				sum, err := traded[name].Add(trade.Quantity)
				if err != nil {
					t.Fatal(err)
				}
				traded[name] = sum
			}
			if len(traded) != len(read.Traded) || len(traded) < 13 {
				t.Errorf("the client read trades of %d symbols, the venue has %d", len(read.Traded),
					len(traded))
			}
			for name, sum := range traded {
				if sum.Cmp(read.Traded[name]) != 0 {
					t.Errorf("%s: the client read %s, the venue traded %s", name, read.Traded[name], sum)
				}
			}
			t.Logf("%d checks, %d orders", read.Checks, read.Orders)
		})
	}
}
