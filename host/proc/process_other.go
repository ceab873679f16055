//go:build unix && !linux

package proc

import (
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/assay-run/assay/host/proc/sandbox"
)

func lockThread() (unlock func()) { return func() {} }

// useCores leaves all processors to the plugin.
func useCores(int) (restore func()) { return func() {} }

func processAttributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// executablePath returns the verified copy's path: nothing here executes an open file.
func executablePath(binary *os.File) string { return binary.Name() }

// awaitExit reaps the process, since nothing here only looks whether it has ended.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// startLow starts a program and lowers its priority.
func startLow(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, cmd.Process.Pid, lowPriority) // it may be gone
	return nil
}

// childOf finds none: here there is no shim.
func childOf(int) int { return 0 }

// socketPath returns the address itself: here a process has no root of its own.
func (c *Child) socketPath(address string) (string, error) { return address, nil }

// watchMemory watches nothing: here there is no sandbox.
func watchMemory(*Child, *sandbox.Policy) {}

// Interrupt interrupts none: here nothing tells which process handles it.
func (*Child) Interrupt() bool { return false }

// identity would distinguish a file from a changed one; here nothing does.
type identity struct{}

// changedAt is when the file was last changed.
func (identity) changedAt() time.Time { return time.Time{} }

// identify reports that this system cannot.
func identify(fs.FileInfo) (identity, bool) { return identity{}, false }
