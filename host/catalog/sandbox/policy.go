package sandbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Mode says how much the host insists on the sandbox.
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

// The levels that are recorded with a run. A partial one lists what is missing.
const (
	LevelFull    = "full"
	LevelOff     = "off"
	levelPartial = "partial:"
)

// Level turns the parts that could not be had into the recorded level.
func Level(missing []string) string {
	if len(missing) == 0 {
		return LevelFull
	}
	return levelPartial + strings.Join(missing, ",")
}

// Weaker is the level of two processes together: what one of them was missing, both
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
	return Level(slices.Compact(missing))
}

// Limits are the resource limits of one plugin process. A zero sets no limit.
type Limits struct {
	DataBytes  uint64 `json:"data_bytes"`  // heap and other private writable memory
	CPUSeconds uint64 `json:"cpu_seconds"` // of all threads together
	OpenFiles  uint64 `json:"open_files"`
	FileBytes  uint64 `json:"file_bytes"` // size of any file it writes
}

// DefaultLimits are wide enough for every honest strategy and narrow enough to
// keep a runaway one from taking the machine along.
func DefaultLimits() Limits {
	return Limits{
		DataBytes:  defaultDataBytes,
		CPUSeconds: 7 * 24 * 3600,
		OpenFiles:  1024,
		FileBytes:  1 << 20,
	}
}

// Policy is what one plugin process may do.
type Policy struct {
	Require   bool     `json:"require"`    // end instead of starting with less than everything
	HostPID   int      `json:"host_pid"`   // the parent; the shim ends if it is another by now
	Binary    int      `json:"binary"`     // descriptor of the program to become
	Status    int      `json:"status"`     // descriptor of the pipe for the report
	SocketDir string   `json:"socket_dir"` // the only place where it may make files
	ReadOnly  []string `json:"read_only"`  // files, and folders whose files, it may read
	Libraries bool     `json:"libraries"`  // the program is linked dynamically
	Network   bool     `json:"network"`    // it was started in the host's network namespace
	Limits    Limits   `json:"limits"`
}

// envName carries the Policy from the host to the shim.
const envName = "ASSAY_SANDBOX_SHIM"

// ShimEnviron is for the shim alone and is not handed on to the plugin: a process that
// lives for some milliseconds collects no garbage.
const ShimEnviron = "GOGC=off"

// Environ is the line of the environment that turns the host's executable into the shim.
func (p Policy) Environ() (string, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("encode the sandbox policy: %w", err)
	}
	return envName + "=" + string(b), nil
}

// Report is what the shim tells the host before it becomes the plugin.
type Report struct {
	Missing []string `json:"missing"`         // parts of the sandbox that could not be had
	Failed  string   `json:"failed"`          // why the plugin was not started
	Errno   int      `json:"errno"`           // of the failed execution
	Refused bool     `json:"refused"`         // Require is set and Missing is not empty
	Ready   bool     `json:"ready,omitempty"` // the shim got as far as its report
}
