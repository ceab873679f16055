package registry

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// NewOwner names this process as the holder of a lease, each time differently:
// <host>:<pid>:<process>-<random>, where <process> tells it from another one that gets
// the same number later, or has it in another container.
func NewOwner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	var unique [4]byte
	_, _ = rand.Read(unique[:]) // never fails
	birth, _ := processBirth(os.Getpid())
	return fmt.Sprintf("%s:%d:%s.%s-%s", host, os.Getpid(), pidSpace(), birth, hex.EncodeToString(unique[:]))
}

// gone says that the process that holds a lease has certainly ended, so that nobody needs
// to wait for the lease to run out. Of a process on another machine or in another
// container, and where there is no /proc, nothing is certain.
func gone(owner string) bool {
	parts := strings.Split(owner, ":")
	if len(parts) != 3 {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	host, hostErr := os.Hostname()
	if err != nil || hostErr != nil || parts[0] != host {
		return false
	}
	process, _, _ := strings.Cut(parts[2], "-")
	space, birth, ok := strings.Cut(process, ".")
	if !ok || space == "" || birth == "" || space != pidSpace() {
		return false
	}
	if _, err := processBirth(1); err != nil {
		return false // the processes of others are hidden
	}
	now, err := processBirth(pid)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	return err == nil && now != birth
}

// pidSpace is the namespace that process numbers count in, "" where there is none.
func pidSpace() string {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.Trim(strings.TrimPrefix(link, "pid:"), "[]")
}

// processBirth is when a process began, in ticks since the machine did: the 22nd field of
// its stat, counted behind the name, which may hold anything.
func processBirth(pid int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return "", errors.New("stat of a process is too short")
	}
	if fields[0] == "Z" {
		return "", fs.ErrNotExist // it has ended, and only nobody has asked how
	}
	return fields[19], nil
}
