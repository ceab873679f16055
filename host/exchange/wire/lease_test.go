package wire_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/wire"
	"github.com/assay-run/assay/host/exchange/wire/launch"
	"github.com/assay-run/assay/host/proc"
)

// TestMain makes the test binary a connector, when a host starts it as one, and a host to
// be killed.
func TestMain(m *testing.M) {
	cookie := wire.Handshake()
	if os.Getenv(cookie.MagicCookieKey) == cookie.MagicCookieValue {
		serveRole(filepath.Base(os.Args[0]))
	}
	if os.Getenv("WIRE_TEST_HOST") != "" {
		if err := host(os.Getenv("WIRE_TEST_HOST")); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func serveRole(name string) {
	switch name {
	case "fake", "fake-b":
		wire.Serve(newFake().connection())
	case "crash":
		fmt.Fprintln(os.Stderr, "out of order")
		os.Exit(3)
	case "hang":
		hang()
	case "chatter":
		fmt.Println("hello, world")
		hang()
	case "liar":
		f := newFake()
		f.onSubmit = func(_ context.Context, q exchange.OrderRequest) (exchange.Result, exchange.Order) {
			_, o := f.rest(q)
			o.Quantity = one.Neg()
			return accepted(), o
		}
		wire.Serve(f.connection())
	}
	os.Exit(9)
}

// hang is for ever. Without cgo the runtime would take an empty select for a deadlock and end the process.
func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

// install makes a connectors folder of this test binary under several names, each with
// bytes of its own.
func install(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), append(slices.Clip(text), name...),
			0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// hostPlan is what the child that plays the host is told.
type hostPlan struct {
	Dir, State, Lease, Log string
	TTL                    time.Duration
}

// host opens a session with two orders and beats until it is killed.
func host(text string) error {
	var plan hostPlan
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		return err
	}
	ctx := context.Background()
	m, err := launch.Open(ctx, launch.Options{Dir: plan.Dir, StateDir: plan.State})
	if err != nil {
		return err
	}
	p, err := m.Launch(ctx, "fake", launch.LaunchOptions{Writable: filepath.Dir(plan.Lease)})
	if err != nil {
		return err
	}
	conn := *p.Connection()
	req := openRequest()
	req.LeaseFile, req.LeaseTTL, req.Endpoint = plan.Lease, plan.TTL, plan.Log
	if _, err := conn.Open(ctx, req); err != nil {
		return err
	}
	for _, id := range []string{ourID, otherID} {
		if r, _ := conn.Submit(ctx, limitOrder(id)); r.Outcome != exchange.Accepted {
			return fmt.Errorf("submit: %+v", r)
		}
	}
	for seq := int64(1); ; seq++ {
		n, err := conn.Beat(ctx, seq)
		if err != nil {
			return err
		}
		if seq == 3 {
			fmt.Printf("ready %d %d\n", p.PID(), n.OpenOrders)
		}
		time.Sleep(plan.TTL / 10)
	}
}

// TestLease kills and hangs real hosts of real connectors.
func TestLease(t *testing.T) {
	dir := install(t, "fake")
	for _, test := range []struct {
		name, reason string
		signal       syscall.Signal
	}{
		{"host killed", wire.ReasonStreamBroken, syscall.SIGKILL},
		{"host hung", wire.ReasonNoBeat, syscall.SIGSTOP},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			plan := hostPlan{dir, filepath.Join(tmp, "state"),
				filepath.Join(tmp, "live", "run", "lease.json"),
				filepath.Join(tmp, "live", "run", "venue.log"), time.Second}
			pid, process := startHost(t, plan)
			for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
				if err := syscall.Kill(pid, s); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(300 * time.Millisecond)
			if gone(pid) {
				t.Fatal("a signal ended the connector while its lease lives")
			}
			if err := process.Signal(test.signal); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the end of the connector", 15*time.Second, func() bool { return gone(pid) })
			checkReport(t, plan, test.reason)
		})
	}
}

func startHost(t *testing.T, plan hostPlan) (pid int, host *os.Process) {
	t.Helper()
	text, _ := json.Marshal(plan)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "WIRE_TEST_HOST="+string(text))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, _ := bufio.NewReader(out).ReadString('\n')
	var open int
	if n, _ := fmt.Sscanf(line, "ready %d %d", &pid, &open); n != 2 || open != 2 {
		t.Fatalf("the host said %q", line)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return pid, cmd.Process
}

func checkReport(t *testing.T, plan hostPlan, reason string) {
	t.Helper()
	text, err := os.ReadFile(plan.Lease)
	if err != nil {
		t.Fatal(err)
	}
	var report wire.LeaseReport
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	want := []string{otherID, ourID}
	if report.Reason != reason || !slices.Equal(report.Cancelled, want) || len(report.Unconfirmed) != 0 ||
		report.At == 0 {
		t.Errorf("%s", text)
	}
	if info, _ := os.Stat(plan.Lease); info.Mode().Perm() != 0o600 {
		t.Errorf("lease.json has mode %v", info.Mode())
	}
	log, err := os.ReadFile(plan.Log)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(log), foreignID) || strings.Contains(string(log), "manual") {
		t.Errorf("an order of somebody else was touched:\n%s", log)
	}
	for _, id := range want {
		if !strings.Contains(string(log), "cancel "+id) || !strings.Contains(string(log), "query "+id) {
			t.Errorf("%s was not cancelled and asked for:\n%s", id, log)
		}
	}
}

// gone reports whether a process has ended; a zombie has.
func gone(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}
	_, after, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(after, "Z") || strings.HasPrefix(after, "X")
}

func waitFor(t testing.TB, what string, limit time.Duration, done func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come within %s", what, limit)
		}
	}
}

func manager(t *testing.T, o launch.Options) *launch.Manager {
	t.Helper()
	if o.StateDir == "" {
		o.StateDir = t.TempDir()
	}
	m, err := launch.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// TestConnectorKilled: the run learns of it, what was on its way is Unknown, and another
// process can be started.
func TestConnectorKilled(t *testing.T) {
	m := manager(t, launch.Options{Dir: install(t, "fake", "liar")})
	p, err := m.Launch(t.Context(), "fake", launch.LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	conn := *p.Connection()
	if out, err := conn.Open(t.Context(), openRequest()); err != nil || out.AccountID != "42" ||
		out.ClockOffset != 15*time.Millisecond {
		t.Fatalf("%+v %v", out, err)
	}
	if _, err := conn.Open(t.Context(), openRequest()); err == nil {
		t.Error("a second Open was not refused")
	}
	if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Crashed()
	if r, _ := conn.Submit(t.Context(), limitOrder(ourID)); r.Outcome != exchange.Unknown {
		t.Errorf("a dead connector: %+v", r)
	}
	var crash *launch.CrashError
	if err := p.Err(); !errors.As(err, &crash) || crash.Exit != "signal: killed" {
		t.Errorf("%v", err)
	}
	<-p.Done()
	again, err := m.Launch(t.Context(), "fake", launch.LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Connection().Open(t.Context(), openRequest()); err != nil {
		t.Error(err)
	}
	if left, err := again.Connection().Close(t.Context(), true); err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
	again.End()
	if again.Err() != nil {
		t.Errorf("an end that was wanted: %v", again.Err())
	}
	p.Kill("again")
}

// halt stops a process with all of its threads, which takes a moment.
func halt(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for running := true; running; time.Sleep(time.Millisecond) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil || len(threads) == 0 {
			t.Fatalf("no threads of %d: %v", pid, err)
		}
		running = false
		for _, name := range threads {
			stat, err := os.ReadFile(name)
			_, rest, _ := strings.Cut(string(stat), ") ")
			running = running || err == nil && !strings.HasPrefix(rest, "T")
		}
	}
}

// TestConnectorHung: a beat shows it soon, and when the process goes on after its lease has
// run out it sends nothing any more and cleans up.
func TestConnectorHung(t *testing.T) {
	tmp := t.TempDir()
	m := manager(t, launch.Options{Dir: install(t, "fake")})
	p, err := m.Launch(t.Context(), "fake", launch.LaunchOptions{Writable: tmp})
	if err != nil {
		t.Fatal(err)
	}
	conn, pid, req := *p.Connection(), p.PID(), openRequest()
	req.LeaseTTL, req.LeaseFile, req.Endpoint = time.Second, filepath.Join(tmp, "lease.json"),
		filepath.Join(tmp, "log")
	opened(t, conn, req)
	submitted(t, conn, ourID, otherID)
	if n, err := conn.Beat(t.Context(), 1); err != nil || n.OpenOrders != 2 {
		t.Fatalf("%+v %v", n, err)
	}
	halt(t, pid)
	ctx, cancel := context.WithTimeout(t.Context(), 1200*time.Millisecond)
	defer cancel()
	if _, err := conn.Beat(ctx, 2); err == nil {
		t.Error("a hung connector answered a beat")
	}
	late, done := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer done()
	if r, _ := conn.Submit(late, limitOrder("late")); r.Outcome != exchange.Unknown {
		t.Errorf("a hung connector: %+v", r)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	<-p.Crashed()
	checkReport(t, hostPlan{Lease: req.LeaseFile, Log: req.Endpoint}, wire.ReasonNoBeat)
	if log, _ := os.ReadFile(req.Endpoint); strings.Contains(string(log), "submit late") {
		t.Errorf("a submit left after the lease:\n%s", log)
	}
}

// TestLaunchList: what cannot be used is listed with its reason, and nothing of the host's
// environment reaches a connector.
func TestLaunchList(t *testing.T) {
	dir := install(t, "fake", "fake-b", "fake2", "crash", "chatter", "hang")
	if err := os.Rename(filepath.Join(dir, "fake2"), filepath.Join(dir, "zfake")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"script": "#!/bin/sh\nexit 0\n", "rubbish": "rubbish",
		".hidden": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "readme"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m := manager(t, launch.Options{Dir: dir, ProbeTimeout: 6 * time.Second})
	want := map[string]string{
		"fake": "", "fake-b": launch.CodeDuplicateID, "crash": proc.CodeStartCrashed,
		"chatter": proc.CodeWrongHandshake, "hang": proc.CodeStartTimeout,
		"script": proc.CodeNotExecutable, "rubbish": proc.CodeNotExecutable, "zfake": proc.CodeStartCrashed,
	}
	for _, c := range m.Connectors() {
		code := ""
		if c.Fault != nil {
			code = c.Fault.Code
		}
		if w, known := want[c.ID]; !known || w != code {
			t.Errorf("%s: %q (%v), want %q", c.ID, code, c.Fault, w)
		}
		delete(want, c.ID)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	var fault *proc.Fault
	if _, err := m.Launch(t.Context(), "crash", launch.LaunchOptions{}); !errors.As(err, &fault) ||
		!strings.Contains(fault.Message, "out of order") {
		t.Errorf("%v", err)
	}
	var missing *launch.NotFoundError
	if _, err := m.Lookup("nobody"); !errors.As(err, &missing) {
		t.Errorf("%v", err)
	}
}

// TestLeave: a host that ends in good order but has not closed a session leaves the
// cleaning up to the connector.
func TestLeave(t *testing.T) {
	tmp := t.TempDir()
	m := manager(t, launch.Options{Dir: install(t, "fake")})
	p, err := m.Launch(t.Context(), "fake", launch.LaunchOptions{Writable: tmp})
	if err != nil {
		t.Fatal(err)
	}
	pid, req := p.PID(), openRequest()
	req.LeaseFile, req.Endpoint = filepath.Join(tmp, "lease.json"), filepath.Join(tmp, "log")
	if _, err := p.Connection().Open(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{ourID, otherID} {
		if r, _ := p.Connection().Submit(t.Context(), limitOrder(id)); r.Outcome != exchange.Accepted {
			t.Fatalf("%+v", r)
		}
	}
	if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil &&
		strings.Contains(string(env), "HOME=") {
		t.Errorf("the host's environment: %q", env)
	}
	if group, err := syscall.Getpgid(pid); err != nil || group == syscall.Getpgrp() {
		t.Errorf("its process group is %d, %v", group, err)
	}
	m.Close()
	waitFor(t, "the end", 10*time.Second, func() bool { return gone(pid) })
	checkReport(t, hostPlan{Lease: req.LeaseFile, Log: req.Endpoint}, wire.ReasonStreamBroken)
	select {
	case <-p.Crashed():
		t.Error("a wanted end is a crash")
	default:
	}
}

// TestLiar: a negative quantity is a crash of the connector.
func TestLiar(t *testing.T) {
	m := manager(t, launch.Options{Dir: install(t, "liar")})
	p, err := m.Launch(t.Context(), "fake", launch.LaunchOptions{}) // its id, not its file
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Connection().Open(t.Context(), openRequest()); err != nil {
		t.Fatal(err)
	}
	if r, _ := p.Connection().Submit(t.Context(), limitOrder(ourID)); r.Outcome != exchange.Unknown {
		t.Errorf("%+v", r)
	}
	<-p.Crashed()
	var broke *wire.ProtocolError
	if err := p.Err(); !errors.As(err, &broke) || broke.Field != "order.quantity" {
		t.Errorf("%v", err)
	}
}
