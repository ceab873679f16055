package registry

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestGone: only a process that has certainly ended is gone.
func TestGone(t *testing.T) {
	me := NewOwner()
	if pidSpace() == "" {
		t.Skip("needs /proc")
	}
	if gone(me) || me == NewOwner() {
		t.Fatalf("%s", me)
	}
	host, _ := os.Hostname()
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Skipf("needs the program true on the PATH: %v", err)
	}
	pid := cmd.Process.Pid
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	birth, err := processBirth(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	space := pidSpace()
	for _, c := range []struct {
		owner string
		want  bool
	}{
		{fmt.Sprintf("%s:%d:%s.1-aa", host, pid, space), true},
		{fmt.Sprintf("%s:%d:%s.%s-aa", host, os.Getpid(), space, birth), false},
		{fmt.Sprintf("%s:%d:%s.1-aa", host, os.Getpid(), space), true}, // another process had the number
		{fmt.Sprintf("%s:%d:1.1-aa", host, pid), false},                // another container
		{fmt.Sprintf("elsewhere-%s:%d:%s.1-aa", host, pid, space), false},
		{fmt.Sprintf("%s:%d:aabbccdd", host, pid), false},
		{fmt.Sprintf("%s:x:%s.1-aa", host, space), false},
		{"", false}, {"::", false}, {strings.Repeat(":", 9), false},
	} {
		if got := gone(c.owner); got != c.want {
			t.Errorf("%s: %v", c.owner, got)
		}
	}
}
