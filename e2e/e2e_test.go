// Package e2e_test attacks the real service with a real browser: pages of other
// origins must neither change nor read anything, pages of the service must work. It
// is skipped where Node, Chromium or the packages of npm ci are absent.
package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// finding is one line of attack.mjs.
type finding struct {
	Name   string
	OK     bool
	Detail string
}

func TestAttacksFromPages(t *testing.T) {
	chromium := needs(t)
	url := service(t)
	start(t, url)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "attack.mjs", url, chromium)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // the browser ends with it
	cmd.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v\n%s", err, stderr.Bytes())
	}
	var last finding
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		last = finding{}
		if err := json.Unmarshal(lines.Bytes(), &last); err != nil {
			t.Fatalf("%v in %s", err, lines.Bytes())
		}
		t.Run(last.Name, func(t *testing.T) {
			if !last.OK {
				t.Error(last.Detail)
			}
		})
	}
	if last.Name != "end" {
		t.Errorf("it broke off after %q\n%s", last.Name, stderr.Bytes())
	}
}

// needs finds the browser, or skips the test and says what is missing.
func needs(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser is slow")
	}
	if out, err := exec.Command("node", "--version").Output(); err != nil {
		t.Skip("node is not on the PATH")
	} else if major, err := strconv.Atoi(strings.Split(strings.TrimPrefix(string(out), "v"), ".")[0]); err != nil || major < 20 {
		t.Skipf("playwright-core needs Node 20, this is %s", out)
	}
	if _, err := os.Stat("node_modules/playwright-core"); err != nil {
		t.Skip("playwright-core is not installed: run npm ci in e2e")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("chromium is not on the PATH")
	return ""
}

// service builds and starts the service with a strategy that takes minutes.
func service(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	build(t, filepath.Join(folder, "assay"), "../cmd/assay")
	build(t, filepath.Join(folder, "strategies", "sleeper"), "../cmd/testdata/misbehave")
	cmd := exec.Command(filepath.Join(folder, "assay"), "--port", "0", "--state-dir", t.TempDir())
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, log.Bytes())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the service does not listen: %v", err)
	}
	return strings.TrimPrefix(strings.TrimSpace(line), "assay listening on ")
}

func build(t *testing.T, to, pkg string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-o", to, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
}

func start(t *testing.T, url string) {
	t.Helper()
	resp, err := http.Post(url+"/api/v1/run/backtest", "application/json",
		strings.NewReader(`{"strategy_name":"sleeper","symbols":["BTC/USDT"],"timeframe":"1h"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("start: %s", resp.Status)
	}
}
