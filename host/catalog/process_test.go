package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// tell starts a run in which the plugin does one thing and answers what came of it.
func tell(t testing.TB, p *Process, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	params, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := p.Client().Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	err = stream.Send(
		&strategypb.HostMessage{
			Message: &strategypb.HostMessage_Start{Start: &strategypb.Start{Params: string(params)}}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.Recv()
	if err != nil {
		t.Fatalf("%v: %v; it said %q", args, err, p.Tail())
	}
	return m.GetFailed().GetMessage()
}

// killTimed ends a process and checks that it took no longer than it may.
func killTimed(t testing.TB, p *Process) {
	t.Helper()
	begin := time.Now()
	p.Kill("test")
	if took := time.Since(begin); took > killLimit+200*time.Millisecond {
		t.Errorf("Kill took %s", took)
	}
	waitGone(t, p.PID(), time.Second)
	p.Kill("a second time")
}

// socketFolder returns the private folder of the process, as the host sees it.
func socketFolder(t *testing.T, p *Process) string {
	t.Helper()
	folder := filepath.Dir(tell(t, p, "folder"))
	if _, err := os.Stat(folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestLaunchAndKill(t *testing.T) {
	c := openWith(t, "good")
	for _, o := range []LaunchOptions{{}, {Plain: true}, {Lockstep: true}} {
		p := start(t, c, "good", o)
		if p.ExitCode() != -1 || p.Exit() != "" {
			t.Errorf("a running process: %d %q", p.ExitCode(), p.Exit())
		}
		if got := tell(t, p, "list", "."); got != "1" { // its socket
			t.Errorf("%+v: its folder has %s entries", o, got)
		}
		folder := socketFolder(t, p)
		killTimed(t, p)
		select {
		case <-p.Done():
		default:
			t.Error("not done after Kill")
		}
		if p.ExitCode() != 0 {
			t.Errorf("it ended with %s", p.Exit())
		}
		if _, err := os.Stat(folder); err == nil {
			t.Error("the socket folder is still there")
		}
	}
}

func TestSurroundings(t *testing.T) {
	t.Setenv("ASSAY_TEST_SECRET", "hunter2")
	const ours, names = "ASSAY_PARENT_FD ASSAY_PLUGIN ", "PLUGIN_MAX_PORT PLUGIN_MIN_PORT " +
		"PLUGIN_PROTOCOL_VERSIONS PLUGIN_UNIX_SOCKET_DIR"
	for mode, want := range map[sandbox.Mode]string{
		// The shim leads its group, and inside of the walls nobody else sees the socket.
		sandbox.Auto: ours + names + "; stdin 0; parent p---------; leader false; zone ",
		sandbox.Off: ours + "PLUGIN_CLIENT_CERT " + names +
			" TZ; stdin 0; parent p---------; leader true; zone UTC",
	} {
		if mode == sandbox.Auto && sandbox.Unwalled(mode, false) != "" {
			continue
		}
		o := testOptions(t)
		o.Sandbox = mode
		install(t, o.Dir, "good")
		p := start(t, open(t, o), "good", LaunchOptions{})
		got := strings.Replace(tell(t, p, "surroundings"), "GORACE ", "", 1)
		if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", mode, got, want)
		}
		if mode == sandbox.Off && p.Level().String() != "off" {
			t.Errorf("level %q", p.Level())
		}
	}
}

// TestFramesAreOffered: a run of lockstep offers frames where nothing is encrypted. A plugin that takes no
// notice, as those built before there were any, is spoken to over gRPC.
func TestFramesAreOffered(t *testing.T) {
	o := testOptions(t)
	o.Sandbox = sandbox.Off
	install(t, o.Dir, "good")
	c := open(t, o)
	for offered, l := range map[bool][]LaunchOptions{
		true:  {{Lockstep: true, Plain: true}},
		false: {{Lockstep: true}, {Plain: true}},
	} {
		for _, o := range l {
			p := start(t, c, "good", o)
			if got := tell(t, p, "surroundings"); strings.Contains(got, wire.FramesVariable) != offered {
				t.Errorf("%+v: %s", o, got)
			}
			if _, framed := p.Client().(*runFrames); framed {
				t.Errorf("%+v: a plugin without frames is spoken to in them", o)
			}
		}
	}
}

// TestProcs: what a run asks for is one more variable, and no other.
func TestProcs(t *testing.T) {
	p := start(t, openWith(t, "good"), "good", LaunchOptions{Plain: true, Procs: 3})
	got := strings.Replace(tell(t, p, "surroundings"), "GORACE ", "", 1)
	if want := "ASSAY_PARENT_FD ASSAY_PLUGIN GOMAXPROCS PLUGIN_MAX_PORT "; !strings.HasPrefix(got, want) {
		t.Errorf("got %s", got)
	}
}

// TestFinishLeavesNothing: a process that is done goes at once, and its folder with it.
func TestFinishLeavesNothing(t *testing.T) {
	c := openWith(t, "good")
	for _, plain := range []bool{true, false} {
		p := start(t, c, "good", LaunchOptions{Plain: plain})
		folder := socketFolder(t, p)
		begin := time.Now()
		p.Finish()
		if took := time.Since(begin); took > killGrace {
			t.Errorf("it took %s", took)
		}
		waitGone(t, p.PID(), time.Second)
		if _, err := os.Stat(folder); err == nil {
			t.Error("the socket folder is still there")
		}
		p.Kill("a second time")
	}
}

func TestStoppedPluginIsKilled(t *testing.T) {
	p := start(t, openWith(t, "good"), "good", LaunchOptions{})
	if err := syscall.Kill(p.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitStopped(t, p.PID())
	killTimed(t, p)
	if p.Exit() != "signal: killed" || p.ExitCode() != 137 {
		t.Errorf("it ended with %s", p.Exit())
	}
}

// waitStopped waits until a signal has really stopped the process.
func waitStopped(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(
		5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			time.Sleep(200 * time.Millisecond) // a system without /proc
			return
		}
		if _, state, ok := strings.Cut(string(stat), ") "); ok && strings.HasPrefix(state, "T") {
			return
		}
	}
	t.Fatal("the process does not stop")
}

func TestGrandchildIsKilled(t *testing.T) {
	o := testOptions(t)
	o.Sandbox = sandbox.Off
	install(t, o.Dir, "good")
	c := open(t, o)
	p := start(t, c, "good", LaunchOptions{})
	pid, err := strconv.Atoi(tell(t, p, "child"))
	if err != nil || gone(pid) {
		t.Fatalf("no grandchild: %v", err)
	}
	killTimed(t, p)
	waitGone(t, pid, time.Second)

	// It goes as well when the plugin ends by itself.
	p = start(t, c, "good", LaunchOptions{})
	if pid, err = strconv.Atoi(tell(t, p, "child")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(p.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitGone(t, pid, time.Second)
	<-p.Done()
}

// TestNothingOutlivesThePlugin: a descendant that left the process group goes with the
// plugin's PID namespace.
func TestNothingOutlivesThePlugin(t *testing.T) {
	c := openWith(t, "good")
	for _, end := range []func(*Process){
		func(p *Process) { p.Kill("test") },
		func(p *Process) { _ = syscall.Kill(p.PID(), syscall.SIGTERM); <-p.Done() },
	} {
		p := start(t, c, "good", LaunchOptions{})
		needFull(t, p)
		namespace, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", p.PID()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := strconv.Atoi(tell(t, p, "child")); err != nil {
			t.Fatal(err)
		}
		if n := members(namespace); n != 3 { // shim, plugin and child
			t.Errorf("%d processes", n)
		}
		end(p)
		if n := members(namespace); n != 0 {
			t.Errorf("%d processes are left", n)
		}
	}
}

// members counts the processes of a PID namespace.
func members(namespace string) (n int) {
	links, _ := filepath.Glob("/proc/[0-9]*/ns/pid")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == namespace {
			n++
		}
	}
	return n
}

func TestFloodOnStdoutDoesNotFreeze(t *testing.T) {
	p := start(t, openWith(t, "good"), "good", LaunchOptions{})
	if got := tell(t, p, "print", "1000000"); got != "printed" {
		t.Errorf("got %s", got)
	}
	killTimed(t, p)
	total := 0
	for _, line := range p.Tail() {
		total += len(line)
	}
	if total != 64<<10 {
		t.Errorf("the tail has %d bytes", total)
	}
}

func TestStderrIsPassedOn(t *testing.T) {
	var mu sync.Mutex
	var lines []string
	c := openWith(t, "good")
	p := start(t, c, "good", LaunchOptions{Stderr: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}})
	if got := tell(t, p, "print", "9000"); got != "printed" {
		t.Errorf("got %s", got)
	}
	killTimed(t, p)
	mu.Lock()
	defer mu.Unlock()
	if len(lines) != 1 || len(lines[0]) != 8192 {
		t.Errorf("got %d lines", len(lines))
	}
}

func TestLaunchFails(t *testing.T) {
	o := testOptions(t)
	install(t, o.Dir, "good", "hang")
	o.ProbeTimeout, o.LaunchTimeout = 5*time.Second, 3*time.Second
	c := open(t, o)
	_, err := c.Launch(t.Context(), &c.Strategies()[1], LaunchOptions{})
	var unavailable *UnavailableError
	if !errors.As(err, &unavailable) {
		t.Errorf("got %v", err)
	}
	good := lookup(t, c, "good")
	if _, err := c.Launch(t.Context(), good, LaunchOptions{Lockstep: true, CandleFolder: "/x"}); err == nil {
		t.Error("dataset files in lockstep must be refused")
	}
	hang := *good
	hang.Name = "hang" // the good program plays the part of its name
	begin := time.Now()
	_, err = c.Launch(t.Context(), &hang, LaunchOptions{})
	var failed *LaunchError
	if !errors.As(err, &failed) || failed.Code != proc.CodeStartTimeout || failed.LogTail == nil ||
		time.Since(begin) > 10*time.Second {
		t.Errorf("hanging: %v after %s", err, time.Since(begin))
	}
	cause := errors.New("stop requested")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, cause)
	defer cancel()
	if _, err = c.Launch(ctx, &hang, LaunchOptions{}); !errors.Is(err, cause) {
		t.Errorf("a cancelled launch: %v", err)
	}
	crash := *good
	crash.Name = "crash"
	_, err = c.Launch(t.Context(), &crash, LaunchOptions{})
	if !errors.As(err, &failed) || failed.Code != proc.CodeStartCrashed ||
		strings.Join(failed.LogTail, "|") != "first|boom" {
		t.Errorf("crashing: %v", err)
	}
	c.Close()
	if _, err := c.Launch(t.Context(), good, LaunchOptions{}); err == nil {
		t.Error("a closed catalogue must not start anything")
	}
	noProcessLeft(t)
}

func TestCloseEndsProcesses(t *testing.T) {
	c := openWith(t, "good")
	a, b := start(t, c, "good", LaunchOptions{}), start(t, c, "good", LaunchOptions{})
	c.Close()
	waitGone(t, a.PID(), time.Second)
	waitGone(t, b.PID(), time.Second)
}

// noProcessLeft looks for children of this process that are not reaped.
func noProcessLeft(t *testing.T) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, stat := range stats {
		b, err := os.ReadFile(stat)
		if err != nil {
			continue
		}
		_, after, _ := strings.Cut(string(b), ") ")
		if f := strings.Fields(after); len(f) > 1 && f[1] == strconv.Itoa(os.Getpid()) {
			t.Errorf("left over: %s", b)
		}
	}
}

func TestNoOrphansAfterManyLaunches(t *testing.T) {
	launches := ring.Size(20, 200, 200)
	o := testOptions(t)
	install(t, o.Dir, "good")
	sandboxed := open(t, o)
	o.Sandbox = sandbox.Off // two starts of a program each are slow under a race detector
	bare := open(t, o)
	next := make(chan int)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range next {
				c := bare
				if i%4 == 0 {
					c = sandboxed
				}
				s, err := c.Lookup("good")
				if err != nil {
					t.Error(err)
					continue
				}
				p, err := c.Launch(t.Context(), s, LaunchOptions{Plain: i%10 != 0})
				if err != nil {
					t.Error(err)
					continue
				}
				if i%100 == 0 {
					_ = syscall.Kill(p.PID(), syscall.SIGSTOP)
				}
				p.Kill("test")
			}
		})
	}
	for i := range launches {
		next <- i
	}
	close(next)
	wg.Wait()
	noProcessLeft(t)
}

func BenchmarkLaunch(b *testing.B) {
	for _, mode := range []sandbox.Mode{sandbox.Off, sandbox.Auto} {
		o := testOptions(b)
		o.Sandbox = mode
		install(b, o.Dir, "good")
		c := open(b, o)
		s := lookup(b, c, "good")
		for _, plain := range []bool{true, false} {
			if !plain && mode == sandbox.Auto {
				continue // it is plain inside of the walls
			}
			b.Run(fmt.Sprintf("sandbox=%s/mtls=%t", mode, !plain), func(b *testing.B) {
				for b.Loop() {
					p, err := c.Launch(b.Context(), s, LaunchOptions{Plain: plain})
					if err != nil {
						b.Fatal(err)
					}
					p.Kill("measured")
				}
			})
		}
	}
}

const helperName = "assay-test-host"

// helperHost is a host in a process of its own: it starts a plugin, prints its
// number, its level and what a lockstep run may read, and waits.
func helperHost() {
	ctx, dir := context.Background(), os.Getenv("HELPER_DIR")
	c, err := Open(ctx,
		Options{Dir: dir, StateDir: filepath.Join(dir, "state"),
			Sandbox: sandbox.Mode(os.Getenv("HELPER_SANDBOX"))})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	s, err := c.Lookup("good")
	if err != nil {
		fmt.Println("error", err)
		return
	}
	p, err := c.Launch(ctx, s, LaunchOptions{})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	fmt.Println(p.PID(), p.Level())
	time.Sleep(time.Minute)
}

// startHelper starts such a host and returns it with its plugin's number and level.
func startHelper(t *testing.T, mode sandbox.Mode, uid uint32) (host *exec.Cmd, plugin int, level string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "assay-helper-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	install(t, dir, "good")
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	installAs(t, filepath.Join(dir, "bin"), "host", "")
	host = &exec.Cmd{
		Path: filepath.Join(dir, "bin", "host"), Args: []string{helperName},
		Env: []string{"HELPER_DIR=" + dir, "HELPER_SANDBOX=" + string(mode), "PATH=" + os.Getenv("PATH"),
			"TMPDIR=" + dir},
		Stderr: os.Stderr,
	}
	if uid != 0 {
		for _, path := range []string{dir, filepath.Join(dir, "good"), host.Path} {
			if err := os.Chown(path, int(uid), int(uid)); err != nil {
				t.Fatal(err)
			}
		}
		host.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Process.Kill(); _ = host.Wait() })
	if n, err := fmt.Fscan(out, &plugin, &level); n != 2 {
		t.Fatalf("the helper did not start: %v", err)
	}
	return host, plugin, level
}

func TestPluginDiesWithItsHost(t *testing.T) {
	for _, mode := range []sandbox.Mode{sandbox.Auto, sandbox.Off} {
		host, plugin, level := startHelper(t, mode, 0)
		if gone(plugin) {
			t.Fatal("the plugin does not run")
		}
		if err := host.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		waitGone(t, plugin, time.Second)
		t.Logf("%s: gone after %s", level, time.Since(begin))
	}
}
