package proc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/assay-run/assay/host/proc/sandbox"
)

// Descriptors in the new process: the standard three, then these.
const (
	binaryFD = 3 + iota
	parentFD
	statusFD
)

// drainLimit is how long output is still read once the process is gone. Only a
// descendant that left the process group can hold the pipes open for longer.
const drainLimit = 250 * time.Millisecond

// Config is what to start.
type Config struct {
	Binary    *os.File // the verified program; Start does not close it
	Name      string   // its argv[0]
	Args      []string // its arguments after argv[0]
	Env       []string // all of its environment but the variables of this package
	SocketDir string   // private folder for its socket
	ReadOnly  []string // files, and folders whose files, the sandbox leaves readable
	Folders   []string // folders that the sandbox lets it read, list and execute from
	Writable  string   // a folder that it may write to and that outlives it; "" for none
	Libraries bool     // it is linked dynamically
	Race      bool     // it was built with the race detector
	Network   bool     // it may use the machine's network
	Sandbox   sandbox.Mode
	Limits    sandbox.Limits
	OnLine    func(string) // gets its stderr, rate-limited; may be nil
	Survives  bool         // it lives on when its host is gone, and ends by itself
	Cores     int          // how many processors it may use, where the system can limit them; 0: all

	measure bool // only the shim is started, to see what can be had
}

// ExecError reports that the system would not execute the program.
type ExecError struct {
	Reason string
	Errno  int
}

// Error returns the message.
func (e *ExecError) Error() string { return "cannot execute the program: " + e.Reason }

// SandboxError reports that the sandbox was required and could not be had.
type SandboxError struct{ Reason string }

// Error returns the message.
func (e *SandboxError) Error() string { return e.Reason }

// Child is one process.
type Child struct {
	pid       int // of the process that was started here: the shim, if there is one
	plugin    int // of the plugin
	level     sandbox.Level
	ownRoot   bool       // its file system is not the host's
	sockets   []*os.File // of its own root
	handshake *io.PipeReader
	tail      *tail
	done      chan struct{}

	mu     sync.Mutex
	first  string // the first line on stdout
	reaped bool
	state  *os.ProcessState
	end    *sandbox.Report // how the plugin ended, if the shim could tell
	killed string          // why the host killed it, if that is more than a wish
}

// Start starts the process and returns as soon as the program runs; what it prints
// and whether it stays is seen later. The context bounds only the start.
func Start(ctx context.Context, cfg Config) (*Child, error) {
	why := sandbox.Unwalled(cfg.Sandbox, cfg.Race)
	switch {
	case why == "":
		return climb(ctx, cfg)
	case cfg.Sandbox == sandbox.Require:
		return nil, &SandboxError{Reason: "there is no sandbox: " + why}
	}
	return start(ctx, cfg, nil, why)
}

// Measure finds what would close in a program that is started now; it starts only the shim.
func Measure(ctx context.Context, mode sandbox.Mode, network bool) (sandbox.Level, error) {
	if why := sandbox.Unwalled(mode, false); why != "" {
		return sandbox.NoSandbox(why), nil
	}
	folder, err := newSocketFolder()
	if err != nil {
		return sandbox.Level{}, err
	}
	defer folder.remove()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return sandbox.Level{}, err
	}
	defer null.Close()
	c, err := climb(ctx, Config{
		Binary: null, SocketDir: folder.dir, Sandbox: sandbox.Auto, Network: network,
		Limits:  sandbox.DefaultLimits(),
		measure: true,
	})
	if err != nil {
		return sandbox.Level{}, err
	}
	<-c.Done()
	return c.level, nil
}

// start starts the process on a rung of the sandbox; nil is without one.
func start(ctx context.Context, cfg Config, policy *sandbox.Policy, why string) (*Child, error) {
	p, err := openPipes(policy != nil)
	if err != nil {
		return nil, fmt.Errorf("make the pipes of the plugin: %w", err)
	}
	c := &Child{done: make(chan struct{}), tail: newTail(cfg.OnLine), level: sandbox.NoSandbox(why)}
	started := make(chan error, 1)
	exited := make(chan struct{})
	go c.own(cfg, policy, p, started, exited)
	if err := <-started; err != nil {
		p.closeAll()
		return nil, err
	}
	p.closeTheirs()
	hello, say := io.Pipe()
	c.handshake = hello
	reported := make(chan error, 1)
	go c.collect(ctx, p, say, reported, exited)
	if err := <-reported; err != nil {
		c.Kill()
		_ = hello.Close()
		<-c.done
		return nil, err
	}
	if policy != nil && !policy.Measure {
		c.ownRoot, c.plugin = policy.Rung.Root, childOf(c.pid)
		watchMemory(c, policy)
	}
	return c, nil
}

// own starts the process from a thread that lives as long as the process does, and
// waits for it there.
func (c *Child) own(cfg Config, policy *sandbox.Policy, p *pipes, started chan<- error,
	exited chan<- struct{}) {
	defer close(exited)
	unlock := lockThread()
	defer unlock()
	defer useCores(cfg.Cores)()
	cmd, err := launch(cfg, policy, p)
	if err == nil {
		c.pid = cmd.Process.Pid
	}
	started <- err
	if err != nil {
		return
	}
	awaitExit(cmd)
	// The group is killed before its leader is reaped: until then no other process can
	// get the leader's number.
	c.mu.Lock()
	defer c.mu.Unlock()
	killGroup(c.pid)
	_ = cmd.Wait() // the state holds more than the error
	c.reaped = true
	c.state = cmd.ProcessState
}

// launch starts the program, or the shim that starts it.
func launch(cfg Config, policy *sandbox.Policy, p *pipes) (*exec.Cmd, error) {
	if policy == nil {
		cmd, err := startDirectly(cfg, p)
		return cmd, execError(err)
	}
	line, err := policy.Environ()
	if err != nil {
		return nil, err
	}
	cmd := command(sandbox.Executable(), cfg, p)
	cmd.Env = append(cmd.Env, line, sandbox.ShimEnviron)
	cmd.ExtraFiles = append(cmd.ExtraFiles, p.statusTheirs)
	if err := policy.Rung.Isolate(cmd.SysProcAttr); err != nil {
		return nil, &lowerError{err}
	}
	if err := sandbox.Start(cmd); err != nil {
		return nil, cannotIsolate(err)
	}
	return cmd, nil
}

// startDirectly executes the program without a shim. It waits out a fork elsewhere
// in the host that holds the program open for writing for a moment.
func startDirectly(cfg Config, p *pipes) (*exec.Cmd, error) {
	for range 20 {
		cmd := command(executablePath(cfg.Binary), cfg, p)
		if err := cmd.Start(); !errors.Is(err, syscall.ETXTBSY) {
			return cmd, err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil, syscall.ETXTBSY
}

// command has everything that all ways of starting share. Stdin is closed: exec
// gives a nil Stdin the null device.
func command(path string, cfg Config, p *pipes) *exec.Cmd {
	env := append([]string{}, cfg.Env...)
	env = append(env, sandbox.ParentEnv+"="+strconv.Itoa(parentFD))
	return &exec.Cmd{
		Path:        path,
		Args:        append([]string{cfg.Name}, cfg.Args...),
		Env:         env,
		Dir:         cfg.SocketDir,
		Stdout:      p.stdoutTheirs,
		Stderr:      p.stderrTheirs,
		ExtraFiles:  []*os.File{cfg.Binary, p.parentTheirs},
		SysProcAttr: processAttributes(cfg.Survives),
	}
}

// collect reads everything the process prints until it is gone.
func (c *Child) collect(ctx context.Context, p *pipes, say *io.PipeWriter, reported chan<- error,
	exited <-chan struct{}) {
	var readers sync.WaitGroup
	readers.Go(func() { c.readStdout(p.stdout, say) })
	readers.Go(func() { c.tail.readFrom(p.stderr) })
	readers.Go(func() { c.readStatus(ctx, p.status, reported) })
	<-exited
	deadline := time.Now().Add(drainLimit)
	for _, f := range []*os.File{p.stdout, p.stderr, p.status} {
		if f != nil {
			_ = f.SetReadDeadline(deadline)
		}
	}
	unread := time.AfterFunc(drainLimit, func() { _ = c.handshake.Close() })
	defer unread.Stop()
	readers.Wait()
	c.tail.flush()
	p.closeOurs()
	close(c.done)
	c.mu.Lock()
	defer c.mu.Unlock()
	closeFiles(c.sockets...)
	c.sockets = nil
}

// readStdout hands the first line to go-plugin and everything after it to the
// tail: a plugin must never freeze because its output is not read.
func (c *Child) readStdout(stdout io.Reader, say *io.PipeWriter) {
	line, rest := firstLine(stdout)
	c.mu.Lock()
	c.first = line
	c.mu.Unlock()
	_, _ = io.WriteString(say, line+"\n")
	_ = say.Close()
	c.tail.write(rest)
	c.tail.readFrom(stdout)
}

// Handshake returns the process's stdout up to the end of its first line.
func (c *Child) Handshake() io.ReadCloser { return c.handshake }

// FirstLine returns what the process printed first; "" as long as it has not.
func (c *Child) FirstLine() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first
}

// PID returns the plugin's number, as the host sees it.
func (c *Child) PID() int { return cmp.Or(c.plugin, c.pid) }

// Level returns how well the sandbox closes it in.
func (c *Child) Level() sandbox.Level { return c.level }

// Done is closed when the process and its group are gone and all output is read.
func (c *Child) Done() <-chan struct{} { return c.done }

// Tail returns the newest 64 KiB of what it said, in lines.
func (c *Child) Tail() []string { return c.tail.lines() }

// Settle gives the last words of a process that will be killed for a fault the time
// to arrive: go-plugin brings what it prints over a stream of its own, which a fault that came
// over another one can overtake. It takes a quarter of a second, four of them when the process
// goes on talking.
func (c *Child) Settle() { c.tail.settle(c.done, 250*time.Millisecond, time.Second) }

// Await reports whether something is done within a limit.
func Await(done <-chan struct{}, limit time.Duration) bool {
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}

// Write adds output of the process that reached the host another way.
func (c *Child) Write(b []byte) (int, error) {
	c.tail.write(b)
	return len(b), nil
}

// ExitCode returns the exit code: -1 as long as it runs, 128 and the number of the signal
// when one ended it, as shells have it.
func (c *Child) ExitCode() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state == nil:
		return -1
	case c.end != nil && c.end.Signal != 0:
		return 128 + c.end.Signal
	case c.end != nil:
		return c.end.Code
	}
	if status, ok := c.state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return c.state.ExitCode()
}

// Exit describes how it ended, such as "signal: killed"; "" as long as it runs.
func (c *Child) Exit() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state == nil:
		return ""
	case c.killed != "":
		return "killed: " + c.killed
	case c.end == nil:
		return c.state.String()
	case c.end.Signal == 0:
		return "exit status " + strconv.Itoa(c.end.Code)
	}
	words := "signal: " + syscall.Signal(c.end.Signal).String()
	if c.end.Core {
		words += " (core dumped)"
	}
	return words
}

// Kill sends SIGKILL to the whole process group, at once and without waiting.
func (c *Child) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped && c.pid != 0 {
		killGroup(c.pid)
	}
}

// killFor kills the process group for a reason that belongs to how it ended.
func (c *Child) killFor(reason string) {
	c.mu.Lock()
	if c.killed == "" && !c.reaped {
		c.killed = reason
	}
	c.mu.Unlock()
	c.Kill()
}

// execError keeps the system's reason apart from Go's wrapping.
func execError(err error) error {
	if err == nil {
		return nil
	}
	e := &ExecError{Reason: err.Error()}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		e.Errno, e.Reason = int(errno), errno.Error()
	}
	return e
}

var errNoShim = errors.New("the sandbox helper did not answer")

// lowerError reports that the machine does not grant what a rung needs.
type lowerError struct{ error }

// Unwrap returns the cause.
func (e *lowerError) Unwrap() error { return e.error }

// cannotIsolate separates a refusal of namespaces from other reasons for which a process
// cannot be started.
func cannotIsolate(err error) error {
	for _, errno := range []syscall.Errno{
		syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.ENOSPC, syscall.EUSERS, syscall.ENOSYS,
	} {
		if errors.Is(err, errno) {
			return &lowerError{errors.New("the system does not make the namespaces: " + errno.Error())}
		}
	}
	return execError(err)
}

// ladder remembers the best rung that this machine grants, and why it grants none above
// it: for strategies and, with the network, for connectors.
type ladder struct {
	mu      sync.Mutex
	rung    int
	refused map[string]string
}

var ladders [2]ladder

func ladderFor(network bool) *ladder {
	if network {
		return &ladders[1]
	}
	return &ladders[0]
}

func (l *ladder) best() (rung int, refused map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	refused = map[string]string{}
	maps.Copy(refused, l.refused)
	return l.rung, refused
}

func (l *ladder) remember(rung int, refused map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rung > l.rung {
		l.rung, l.refused = rung, refused
	}
}

// climb starts the process on the best rung that the machine grants.
func climb(ctx context.Context, cfg Config) (*Child, error) {
	l := ladderFor(cfg.Network)
	rungs := sandbox.Rungs(os.Geteuid() == 0, cfg.Network)
	rung, refused := l.best()
	if cfg.Sandbox == sandbox.Require {
		rung, refused = 0, map[string]string{}
	}
	for {
		p := policy(cfg, rungs[rung], refused)
		if err := giveFolder(p); err != nil {
			return nil, err
		}
		c, err := start(ctx, cfg, p, "")
		var lower *lowerError
		switch {
		case !errors.As(err, &lower):
			if err == nil && cfg.Sandbox != sandbox.Require {
				l.remember(rung, refused)
			}
			return c, err
		case cfg.Sandbox == sandbox.Require:
			return nil, &SandboxError{Reason: "the sandbox is incomplete: " + lower.Error()}
		case rung == len(rungs)-1:
			return nil, &ExecError{Reason: lower.Error()}
		}
		rungs[rung].Without(rungs[rung+1], lower.Error(), refused)
		rung++
	}
}

// giveFolder gives the folder that the process may write to, and its files, to the user that
// it becomes.
func giveFolder(p *sandbox.Policy) error {
	if p.Writable == "" || os.Geteuid() != 0 {
		return nil
	}
	user := cmp.Or(p.User, os.Geteuid())
	return filepath.WalkDir(p.Writable, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, user, user)
	})
}

// policy returns what a process may do on a rung.
func policy(cfg Config, rung sandbox.Rung, refused map[string]string) *sandbox.Policy {
	p := &sandbox.Policy{
		Require: cfg.Sandbox == sandbox.Require, Measure: cfg.measure, Survives: cfg.Survives,
		Program: cfg.Binary.Name(), Binary: binaryFD, Parent: parentFD, Status: statusFD,
		Host: sandbox.HostNamespaces(),
		Rung: rung, Refused: refused, SocketDir: cfg.SocketDir, ReadOnly: cfg.ReadOnly,
		Folders: cfg.Folders, Writable: cfg.Writable,
		Libraries: cfg.Libraries, Network: cfg.Network, Limits: cfg.Limits,
	}
	if rung.Root {
		// Without a root of its own another user could not reach the program in the state folder.
		p.User = sandbox.PickUser()
	}
	return p
}
