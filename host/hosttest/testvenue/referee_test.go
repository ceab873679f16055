package testvenue_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/hosttest/testvenue"
)

const referees = "testdata/referee"

// python returns an interpreter with the packages of requirements.txt, which are installed once, by their
// hashes.
func python(t *testing.T) string {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(referees, "requirements.txt"))
	if err != nil {
		t.Fatal(err)
	}
	base, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("make prove needs Python 3.11 or newer: %v", err)
	}
	version, err := exec.CommandContext(t.Context(), base, "-VV").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(append(version, lock...))
	dir := filepath.Join(cache, "assay-prove", hex.EncodeToString(sum[:8]))
	whole := filepath.Join(dir, "whole")
	interpreter := filepath.Join(dir, "bin", "python")
	if _, err := os.Stat(whole); err == nil {
		return interpreter
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{base, "-m", "venv", dir},
		{interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes",
			"--no-deps", "-r", filepath.Join(referees, "requirements.txt")},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if err := os.WriteFile(whole, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return interpreter
}

// TestProveReferees lets public clients trade on the venue: what they read of orders and
// trades is what the venue did.
func TestProveReferees(t *testing.T) {
	ring.Proof(t, "it installs Python packages") // it installs Python packages
	interpreter := python(t)
	for script, least := range map[string]int{"with_ccxt.py": 130, "with_python_binance.py": 600} {
		t.Run(script, func(t *testing.T) {
			v := start(t, testvenue.Options{Speed: 20, Cash: "100000", History: 2000})
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, interpreter, script, v.URL(), v.ScriptURL()+"/scripts",
				testvenue.DefaultKey, testvenue.DefaultSecret)
			cmd.Dir, cmd.Env = referees, append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
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
