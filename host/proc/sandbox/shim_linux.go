package sandbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Supported reports whether this system has a sandbox.
func Supported() bool { return true }

// Executable returns the program to start as the shim: this very process's, even if
// the file was replaced since.
func Executable() string { return "/proc/self/exe" }

// ParentEnv names the environment variable with the descriptor of the pipe whose
// end of file shows a plugin that its host is gone.
const ParentEnv = "ASSAY_PARENT_FD"

// parentFD is that descriptor in a plugin that the shim starts.
const parentFD = 3

const lastSignal syscall.Signal = 64

// exitShim is the exit code of a shim that could not start its plugin; the reason is in
// the Report.
const exitShim = 125

// init makes a process that was started as the shim start the plugin, wait for it and end;
// it returns at once in an ordinary start. The shim is the host's own executable, and what
// the host's packages prepare (schemas, tables, generated code) takes longer than all that
// the shim has to do; a search starts thousands of them. Go initialises packages that are
// ready in the order of their paths, and this one is ready early: it imports nothing of the
// host, and has to stay so.
func init() {
	encoded, ok := os.LookupEnv(envName)
	if !ok {
		return
	}
	// Landlock, seccomp and the parent-death signal belong to a thread; the one that
	// starts the plugin has to be the one that was restricted.
	runtime.LockOSThread()
	var p Policy
	if err := json.Unmarshal([]byte(encoded), &p); err != nil {
		os.Exit(exitShim)
	}
	keepDescriptors()
	os.Exit((&shim{Policy: p, status: json.NewEncoder(os.NewFile(uintptr(p.Status), "status"))}).run())
}

// keepDescriptors lets the plugin inherit nothing but what it is given. The host's own
// descriptors are closed when it executes, but for those that its runtime opened for another
// process that it starts at the same time.
func keepDescriptors() {
	const first, last = 3, 1 << 16
	if unix.CloseRange(first, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	for fd := first; fd < last; fd++ { // before Linux 5.11
		unix.CloseOnExec(fd)
	}
}

// shim is the process between host and plugin: the first of the plugin's PID namespace.
type shim struct {
	Policy
	status *json.Encoder
	parts  []Part
}

// run returns the shim's whole life; it returns its exit code.
func (s *shim) run() int {
	pid, failed := s.start()
	if failed != nil {
		_ = s.status.Encode(failed)
		return exitShim
	}
	if s.Measure {
		return 0
	}
	// The plugin has the signals' defaults. The first process of its namespace is not to be
	// ended by it, and hands on what it is asked to do.
	for sig := syscall.Signal(1); sig <= lastSignal; sig++ {
		if sig != syscall.SIGCHLD { // ignored, it would reap the plugin unseen
			signal.Ignore(sig)
		}
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		for sig := range asked {
			_ = syscall.Kill(pid, sig.(syscall.Signal)) // it is gone
		}
	}()
	status := s.reap(pid)
	end := Report{Ended: true, Code: status.ExitStatus()}
	if status.Signaled() {
		end = Report{Ended: true, Signal: int(status.Signal()), Core: status.CoreDump()}
	}
	_ = s.status.Encode(end)
	return max(end.Code, 0)
}

// reap waits for the plugin, and for what its processes leave behind. When the first
// process of a PID namespace ends, the kernel ends all others.
func (s *shim) reap(plugin int) syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		switch pid, err := syscall.Wait4(-1, &status, 0, nil); {
		case pid == plugin && (status.Exited() || status.Signaled()):
			return status
		case err != nil && !errors.Is(err, syscall.EINTR):
			return 0
		}
	}
}

// start restricts this thread and starts the plugin from it.
func (s *shim) start() (pid int, failed *Report) {
	if err := s.confine(); err != nil {
		var wrong *policyError
		return 0, &Report{Ready: true, Failed: err.Error(), Lower: !errors.As(err, &wrong)}
	}
	ready := Report{Ready: true, Parts: s.parts}
	if lacks := (Level{Parts: s.parts}).Lacks(); s.Require && lacks != "" {
		return 0, &Report{Ready: true, Parts: s.parts, Refused: true,
			Failed: "the sandbox is incomplete: " + lacks}
	}
	if !s.Measure {
		var err error
		if pid, err = s.execute(); err != nil {
			var errno syscall.Errno
			errors.As(err, &errno)
			return 0, &Report{Ready: true, Failed: err.Error(), Errno: int(errno)}
		}
	}
	if err := s.status.Encode(ready); err != nil {
		return 0, &Report{Failed: err.Error()}
	}
	return pid, nil
}

// policyError reports that the policy itself asks for something that is not there.
type policyError struct{ error }

// Unwrap returns the cause.
func (e *policyError) Unwrap() error { return e.error }

// confine applies the policy to this thread, in the one order that works: what needs
// rights first, and then the giving up of rights.
func (s *shim) confine() error {
	s.compareNamespaces()
	program, err := unix.FcntlInt(uintptr(s.Binary), unix.F_DUPFD_CLOEXEC, 64)
	if !s.Measure && err != nil {
		return &policyError{fmt.Errorf("the plugin's program: %w", err)}
	}
	s.Binary = program
	if s.Rung.Root {
		if err := s.enterRoot(); err != nil {
			return fmt.Errorf("%s: %w", PartRoot, err)
		}
	}
	s.part(PartRoot, need(s.Rung.Root, "there is no mount namespace"))
	if s.Rung.Processes {
		_ = unix.Sethostname([]byte("plugin")) // the host's name is hidden, which no part depends on
	}
	s.setLimits()
	if err := s.becomeUser(); err != nil {
		return fmt.Errorf("%s: %w", PartOwnUser, err)
	}
	s.part(PartCapabilities, s.dropCapabilities())
	s.part(PartPrivileges, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // 0 is a value it takes
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	if err := s.followHost(); err != nil {
		return err
	}
	missing, err := restrictFiles(s.Policy)
	if err != nil {
		return &policyError{err}
	}
	s.part(PartLandlock, need(missing == "", missing))
	s.part(PartSeccomp, restrictCalls(s.Network))
	s.sortParts()
	return nil
}

// part notes that a part stands, or why it does not.
func (s *shim) part(name string, missing error) {
	p := Part{Name: name}
	if missing != nil {
		p.Missing = cmp.Or(s.Refused[name], missing.Error())
	}
	s.parts = append(s.parts, p)
}

// need is nil if there is what a part needs, else why it is missing.
func need(there bool, why string) error {
	if there {
		return nil
	}
	return errors.New(why)
}

// order is the order of the parts in a level.
var order = []string{
	PartUser, PartPID, PartIPC, PartUTS, PartNetwork, PartRoot, PartOwnUser, PartCapabilities, PartPrivileges,
	PartSeccomp, PartLandlock, PartLimits, PartProcesses, PartMemory,
}

func (s *shim) sortParts() {
	sorted := make([]Part, 0, len(s.parts))
	for _, name := range order {
		for _, p := range s.parts {
			if p.Name == name {
				sorted = append(sorted, p)
			}
		}
	}
	s.parts = sorted
}

// compareNamespaces looks which namespaces this process shares with the host.
func (s *shim) compareNamespaces() {
	for _, n := range []struct{ part, name string }{
		{PartUser, "user"}, {PartPID, "pid"}, {PartIPC, "ipc"}, {PartUTS, "uts"}, {PartNetwork, "net"},
	} {
		if n.part == PartNetwork && s.Network {
			continue
		}
		own, err := os.Readlink("/proc/self/ns/" + n.name)
		if err == nil {
			err = need(own != s.Host[n.name] && s.Host[n.name] != "", "it is the host's")
		}
		s.part(n.part, err)
	}
	// The host watches the memory of all processes of the namespace.
	s.part(PartMemory,
		need(s.Rung.Processes, "without a PID namespace its processes cannot be told from others"))
}

// HostNamespaces are those of this process, by kind.
func HostNamespaces() map[string]string {
	names := map[string]string{}
	for _, kind := range []string{"user", "pid", "ipc", "uts", "net", "mnt"} {
		if link, err := os.Readlink("/proc/self/ns/" + kind); err == nil {
			names[kind] = link
		}
	}
	return names
}

// followHost has the kernel kill this process with the host. Changing credentials has
// cleared the signal, so it is set again, and then the host must still be there: it may
// have died in between.
func (s *shim) followHost() error {
	if s.Survives {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("set the parent-death signal: %w", err)
	}
	if s.Measure {
		return nil
	}
	poll := []unix.PollFd{{Fd: int32(s.Parent), Events: unix.POLLIN}}
	if n, err := unix.Poll(poll, 0); err == nil && n > 0 {
		return &policyError{errors.New("the host is gone")}
	}
	return nil
}

// execute starts the program, under the shim's own argv and without its variables.
func (s *shim) execute() (pid int, err error) {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if name != envName && name != ParentEnv && kv != ShimEnviron {
			env = append(env, kv)
		}
	}
	env = append(env, ParentEnv+"="+strconv.Itoa(parentFD))
	path := programPath
	if !s.Rung.Root {
		path = fmt.Sprintf("/proc/self/fd/%d", s.Binary)
	}
	attr := &syscall.ProcAttr{
		Env:   env,
		Files: []uintptr{0, 1, 2, uintptr(s.Parent)},
		Sys:   &syscall.SysProcAttr{},
	}
	if !s.Survives {
		attr.Sys.Pdeathsig = syscall.SIGKILL
	}
	// A fork elsewhere in the host can hold a descriptor open for writing for a moment.
	for range 20 {
		pid, err = syscall.ForkExec(path, os.Args, attr)
		if !errors.Is(err, syscall.ETXTBSY) {
			return pid, err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0, err
}
