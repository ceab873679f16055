package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Supported says whether this system has a sandbox.
func Supported() bool { return true }

// Executable is the program to start as the shim: this very process's, even if
// the file was replaced since.
func Executable() string { return "/proc/self/exe" }

// InShim says whether this process was started as the shim. A host that is asked
// to start plugins while this is true forgot to call MaybeShim.
func InShim() bool { return os.Getenv(envName) != "" }

// exitShim is the exit code of a shim that could not become its plugin; the reason
// is in the Report.
const exitShim = 125

// MaybeShim must be the first call of main in every program that starts plugins,
// and of TestMain in their tests. It returns at once in an ordinary start. In a
// process that was started as the shim it becomes the plugin or ends.
func MaybeShim() {
	encoded, ok := os.LookupEnv(envName)
	if !ok {
		return
	}
	// Landlock, capabilities and the parent-death signal belong to a thread; the
	// one that executes the plugin has to be the one that was restricted.
	runtime.LockOSThread()
	var p Policy
	if err := json.Unmarshal([]byte(encoded), &p); err != nil {
		os.Exit(exitShim)
	}
	status := os.NewFile(uintptr(p.Status), "status")
	unix.CloseOnExec(p.Status)
	unix.CloseOnExec(p.Binary)
	_ = json.NewEncoder(status).Encode(become(p, status))
	os.Exit(exitShim)
}

// become applies the policy and executes the plugin. It returns only on failure.
func become(p Policy, status *os.File) Report {
	r := Report{Ready: true}
	var err error
	if r.Missing, err = apply(p); err != nil {
		r.Failed = err.Error()
		return r
	}
	if p.Require && len(r.Missing) > 0 {
		r.Refused = true
		r.Failed = "the sandbox is incomplete: " + strings.Join(r.Missing, ", ")
		return r
	}
	if err := json.NewEncoder(status).Encode(r); err != nil {
		r.Failed = err.Error()
		return r
	}
	// Changing credentials clears the signal, so it is set again, and then the
	// parent must still be there: it may have died in between.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		r.Failed = "set the parent-death signal: " + err.Error()
		return r
	}
	if os.Getppid() != p.HostPID {
		r.Failed = "the host is gone"
		return r
	}
	err = execute(p.Binary)
	var errno syscall.Errno
	if errors.As(err, &errno) {
		r.Errno = int(errno)
	}
	r.Failed = err.Error()
	return r
}

// execute becomes the program behind the descriptor, under the shim's own argv.
func execute(binary int) error {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, envName+"=") && kv != ShimEnviron {
			env = append(env, kv)
		}
	}
	path := fmt.Sprintf("/proc/self/fd/%d", binary)
	// A fork elsewhere in the host can hold a descriptor open for writing for a moment.
	for range 20 {
		err := syscall.Exec(path, os.Args, env)
		if !errors.Is(err, syscall.ETXTBSY) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return syscall.ETXTBSY
}

// apply restricts this thread and says which parts could not be had. An error
// means that the plugin must not start at all.
func apply(p Policy) (missing []string, err error) {
	lack := func(part string) { missing = append(missing, part) }
	if p.Network {
		lack("no_network_namespace")
	}
	if err := setLimits(p.Limits); err != nil {
		lack("no_rlimits")
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		lack("no_new_privs_unset")
	}
	if err := dropCapabilities(); err != nil {
		lack("capabilities_kept")
	}
	part, err := restrictFiles(p)
	if err != nil {
		return nil, err
	}
	if part != "" {
		lack(part)
	}
	return missing, nil
}
