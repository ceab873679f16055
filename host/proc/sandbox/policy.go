// Package sandbox closes a plugin process in before it runs its first instruction.
//
// The host starts its own executable again with a [Policy] in the environment. That
// process, the shim, never gets to its main: it lowers its resource limits, gives up capabilities and the
// right to gain new ones, restricts its view of the file system with Landlock to the
// plugin's program, its socket folder, the null device and the files of the Policy
// (and the system's libraries, if the program is linked dynamically), and then
// becomes the plugin. The network namespace without interfaces is made by the host when it
// starts the shim, because a program with several threads cannot enter a user
// namespace any more. What could not be had is reported back through a pipe, so that
// the level of every run is known.
//
// Everything here is Linux; elsewhere a plugin runs without a sandbox, and its level is off.
// The package imports nothing of the module, so that the shim starts early and fast.
// Package proc starts the processes.
package sandbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Mode is how much the host insists on the sandbox.
type Mode string

// The modes of --sandbox.
const (
	Auto    Mode = "auto"    // as much as the machine offers, the rest is recorded
	Off     Mode = "off"     // none
	Require Mode = "require" // all of it, or the plugin does not start
)

// ParseMode reads a Mode; the empty string is Auto.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case "":
		return Auto, nil
	case Auto, Off, Require:
		return m, nil
	}
	return "", fmt.Errorf("%q is not a sandbox mode: write auto, off or require", s)
}

// The parts of the sandbox, in the order in which they are listed.
const (
	PartUser         = "user_namespace"    // capabilities in it count for nothing outside
	PartPID          = "pid_namespace"     // it sees and signals no process but its own, and none outlives it
	PartIPC          = "ipc_namespace"     // no System V or POSIX queues and segments of others
	PartUTS          = "uts_namespace"     // its host name is its own
	PartNetwork      = "network_namespace" // no interface; a connector does not have this part
	PartRoot         = "own_root"          // the file system has its own files and nothing else
	PartOwnUser      = "own_user"          // a user without an account, where the host is root
	PartCapabilities = "capabilities"      // none is left
	PartPrivileges   = "no_new_privs"      // executing a program gives it none back
	PartSeccomp      = "seccomp"           // system calls that no strategy needs are refused
	PartLandlock     = "landlock"          // the same files once more, by another mechanism
	PartLimits       = "limits"            // of data, processor time, files and their size
	PartProcesses    = "process_limit"     // of processes and threads
	PartMemory       = "memory_limit"      // of all memory, shared memory included
)

// Part is one wall of the sandbox.
type Part struct {
	Name string `json:"name"`
	// Missing is why it could not be had; "" if it stands.
	Missing string `json:"missing,omitempty"`
}

// The levels that sum up the parts. A partial one lists what is missing.
const (
	LevelFull    = "full"
	LevelOff     = "off"
	levelPartial = "partial:"
)

// Level is what closes a process in.
type Level struct {
	// Parts are all parts that a process of its kind can have, in a fixed order; nil
	// without a sandbox.
	Parts []Part
	// Why is the reason for no sandbox at all; "" if there is one.
	Why string
}

// Unwalled explains why a program cannot be closed in; "" if it can.
func Unwalled(m Mode, programHasRaceDetector bool) string {
	switch {
	case m == Off:
		return "--sandbox off"
	case !Supported():
		return "only Linux has what it needs"
	case raced:
		return "the host was built with the race detector"
	case programHasRaceDetector:
		return "the program was built with the race detector"
	}
	return ""
}

// NoSandbox returns the level of a process without one.
func NoSandbox(why string) Level { return Level{Why: why} }

// Walls are a level as the API shows it.
type Walls struct {
	Level  string `json:"level"`
	Reason string `json:"reason"` // for no sandbox; "" with one
	Parts  []Part `json:"parts"`
}

// Walls returns the level for the API.
func (l Level) Walls() Walls { return Walls{l.String(), l.Why, append([]Part{}, l.Parts...)} }

// String is full, partial: with what is missing, or off.
func (l Level) String() string {
	if l.Parts == nil {
		return LevelOff
	}
	var missing []string
	for _, p := range l.Parts {
		if p.Missing != "" {
			missing = append(missing, "no_"+p.Name)
		}
	}
	return level(missing)
}

func level(missing []string) string {
	if len(missing) == 0 {
		return LevelFull
	}
	return levelPartial + strings.Join(missing, ",")
}

// Lacks lists what is missing with its reason, for a message; "" if nothing is.
func (l Level) Lacks() string {
	if l.Parts == nil {
		return l.Why
	}
	var lacks []string
	for _, p := range l.Parts {
		if p.Missing != "" {
			lacks = append(lacks, p.Name+" ("+p.Missing+")")
		}
	}
	return strings.Join(lacks, ", ")
}

// LacksAny names the first of some parts that is missing, with its reason; "" if all stand.
func (l Level) LacksAny(parts ...string) string {
	for _, name := range parts {
		i := slices.IndexFunc(l.Parts, func(p Part) bool { return p.Name == name })
		if i < 0 {
			return name + " (" + l.Why + ")"
		}
		if l.Parts[i].Missing != "" {
			return name + " (" + l.Parts[i].Missing + ")"
		}
	}
	return ""
}

// Weaker returns the level of two processes together: what one of them was missing, both
// count as missing. An empty level is that of no process.
func Weaker(a, b string) string {
	switch {
	case a == "" || b == "":
		return a + b
	case a == LevelOff || b == LevelOff:
		return LevelOff
	}
	var missing []string
	for _, level := range []string{a, b} {
		if parts, partial := strings.CutPrefix(level, levelPartial); partial {
			missing = append(missing, strings.Split(parts, ",")...)
		}
	}
	slices.Sort(missing)
	return level(slices.Compact(missing))
}

// Limits are the resource limits of one plugin process. A zero sets no limit.
type Limits struct {
	DataBytes   uint64 `json:"data_bytes"`   // heap and other private writable memory of a process
	MemoryBytes uint64 `json:"memory_bytes"` // all memory of all its processes, shared memory once
	CPUSeconds  uint64 `json:"cpu_seconds"`  // of all threads together
	OpenFiles   uint64 `json:"open_files"`
	FileBytes   uint64 `json:"file_bytes"` // size of any file it writes
	Processes   uint64 `json:"processes"`  // and threads
}

// DefaultLimits are wide enough for every honest strategy and narrow enough to
// keep a runaway one from taking the machine along.
func DefaultLimits() Limits {
	return Limits{
		DataBytes:   4 << 30,
		MemoryBytes: 4 << 30,
		CPUSeconds:  7 * 24 * 3600,
		OpenFiles:   1024,
		FileBytes:   1 << 20,
		Processes:   512,
	}
}

// Policy is what one plugin process may do.
type Policy struct {
	Require  bool              `json:"require"`  // end instead of starting with less than everything
	Measure  bool              `json:"measure"`  // report what can be had and start nothing
	Survives bool              `json:"survives"` // it lives on when the host is gone
	Program  string            `json:"program"`  // path of the program to start
	Binary   int               `json:"binary"`   // descriptor of the same program
	Parent   int               `json:"parent"`   // descriptor of the pipe that ends with the host
	Status   int               `json:"status"`   // descriptor of the pipe for the reports
	Host     map[string]string `json:"host"`     // the host's namespaces: what it must not share
	Rung     Rung              `json:"rung"`     // what the host started it with
	Refused  map[string]string `json:"refused"`  // why a better rung could not be had, by part
	User     int               `json:"user"`     // to become; 0: stay

	SocketDir string   `json:"socket_dir"` // the only place where it may make files
	ReadOnly  []string `json:"read_only"`  // files, and folders whose files, it may read
	Folders   []string `json:"folders"`    // it may read, list and execute what is in them
	Writable  string   `json:"writable"`   // a folder that outlives it; "" for none
	Libraries bool     `json:"libraries"`  // the program is linked dynamically
	Network   bool     `json:"network"`    // it may use the machine's network
	Limits    Limits   `json:"limits"`
}

// CertificateVariables name the variables of the environment that hold where the system's
// certificates are, which is not the same everywhere.
func CertificateVariables() []string { return []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} }

// envName carries the Policy from the host to the shim.
const envName = "ASSAY_SANDBOX_SHIM"

// ShimEnviron is for the shim alone and is not handed on to the plugin: a process that
// has nothing to do but to wait collects no garbage.
const ShimEnviron = "GOGC=off"

// Environ returns the line of the environment that turns the host's executable into the shim.
func (p Policy) Environ() (string, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("encode the sandbox policy: %w", err)
	}
	return envName + "=" + string(b), nil
}

// Report is a line that the shim writes to the host. The first one reports what came of the
// start; a second one, with Ended, how the plugin ended.
type Report struct {
	Parts   []Part `json:"parts,omitempty"`
	Failed  string `json:"failed,omitempty"`  // why the plugin was not started
	Errno   int    `json:"errno,omitempty"`   // of the failed execution
	Lower   bool   `json:"lower,omitempty"`   // a lower rung may succeed
	Refused bool   `json:"refused,omitempty"` // Require is set and a part is missing
	Ready   bool   `json:"ready,omitempty"`   // the shim got as far as its report

	Ended  bool `json:"ended,omitempty"`
	Code   int  `json:"code,omitempty"`   // exit code
	Signal int  `json:"signal,omitempty"` // that ended it; 0: none did
	Core   bool `json:"core,omitempty"`   // the system wrote a core file
}

// Rung is one of the ways to start the shim, best first. What it makes, the shim finds.
type Rung struct {
	User      bool `json:"user"`
	Processes bool `json:"processes"` // PID, IPC and UTS namespaces
	Root      bool `json:"root"`      // a mount namespace, for a root of its own
	Network   bool `json:"network"`
}

// Parts are the parts that a rung is for.
func (r Rung) parts() []string {
	var parts []string
	if r.User {
		parts = append(parts, PartUser)
	}
	if r.Processes {
		parts = append(parts, PartPID, PartIPC, PartUTS)
	}
	if r.Network {
		parts = append(parts, PartNetwork)
	}
	if r.Root {
		parts = append(parts, PartRoot)
	}
	return parts
}

// Without adds why a rung could not be had for the parts that the next one gives up.
func (r Rung) Without(next Rung, why string, refused map[string]string) {
	kept := next.parts()
	for _, part := range r.parts() {
		if _, known := refused[part]; !known && !slices.Contains(kept, part) {
			refused[part] = why
		}
	}
}

// Rungs are the ways to start a plugin's shim, best first; the last one needs nothing.
// Root needs a user namespace for none of the other parts, everybody else for all.
func Rungs(root, network bool) []Rung {
	net := !network
	if root {
		return []Rung{
			{User: true, Processes: true, Root: true, Network: net},
			{Processes: true, Root: true, Network: net},
			{Processes: true, Network: net},
			{},
		}
	}
	rungs := []Rung{
		{User: true, Processes: true, Root: true, Network: net},
		{User: true, Processes: true, Network: net},
		{User: true, Network: true},
		{},
	}
	if network {
		return slices.Delete(rungs, 2, 3)
	}
	return rungs
}
