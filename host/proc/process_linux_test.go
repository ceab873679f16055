package proc

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/proc/sandbox"
)

// restricted are surroundings in which a host does not get everything: what its system calls
// are refused.
var restricted = map[string][]seccomp.SyscallGroup{
	"free": nil,
	// Docker's default filter for a container without CAP_SYS_ADMIN.
	"container": {
		namespaceFlags(unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS)},
	// A rule of AppArmor that grants user namespaces and no rights in them.
	"no mounts": {{Names: []string{"mount", "pivot_root", "umount2"},
		Action: seccomp.ActionErrno | seccomp.Action(unix.EACCES)}},
	"no users":  {namespaceFlags(unix.CLONE_NEWUSER)},
	"no filter": {{Names: []string{"seccomp"}, Action: seccomp.ActionErrno | seccomp.Action(unix.EPERM)}},
}

func namespaceFlags(flags uint64) seccomp.SyscallGroup {
	return seccomp.SyscallGroup{Action: seccomp.ActionErrno | seccomp.Action(unix.EPERM),
		NamesWithCondtions: []seccomp.NameWithConditions{{Name: "clone",
			Conditions: seccomp.ArgumentConditions{
				{Argument: 0, Operation: seccomp.BitsSet, Value: flags},
			}}}}
}

// measured prints the levels that a host reaches in such surroundings.
func measured(name string) {
	groups := restricted[name]
	if name == "shipped" {
		groups = shipped()
	}
	if groups != nil {
		err := seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: os.Geteuid() != 0, Flag: seccomp.FilterFlagTSync,
			Policy: seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: groups}})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	for _, network := range []bool{false, true} {
		ctx, cancel := startLimit()
		level, err := Measure(ctx, sandbox.Auto, network)
		cancel()
		fmt.Println(level, err)
	}
}

// shippedFilter is the filter for containers that the documentation offers.
const shippedFilter = "../../docs/container/seccomp.json"

func shipped() []seccomp.SyscallGroup {
	var profile struct {
		Syscalls []struct{ Names []string }
	}
	if err := json.Unmarshal([]byte(os.Getenv("FILTER")), &profile); err != nil ||
		len(profile.Syscalls) != 1 {
		panic(fmt.Sprint(profile, err))
	}
	native, err := arch.GetInfo("")
	if err != nil {
		panic(err)
	}
	group := seccomp.SyscallGroup{Action: seccomp.ActionErrno}
	for _, name := range profile.Syscalls[0].Names {
		if _, ok := native.SyscallNames[name]; ok { // others are those of other architectures
			group.Names = append(group.Names, name)
		}
	}
	return []seccomp.SyscallGroup{group}
}

// TestLadder: the level lists what a machine refuses, and a plugin starts all the same.
func TestLadder(t *testing.T) {
	ring.Undetected(t, "programs with the race detector have no sandbox")
	free := measureIn(t, "free", 0)
	if free[0] != sandbox.LevelFull+" <nil>" {
		t.Skipf("needs the full sandbox; this machine has %q", free)
	}
	const none = "no_user_namespace,no_pid_namespace,no_ipc_namespace,no_uts_namespace,"
	root, user := os.Geteuid(), 65534
	for _, test := range []struct {
		name string
		uid  int
		want string
	}{
		{"free", user, "full"},
		{"no users", root, "partial:no_user_namespace"},
		{"no mounts", root,
			"partial:no_user_namespace,no_own_root,no_own_user,no_capabilities,no_process_limit"},
		{"no mounts", user, "partial:no_own_root"},
		{"container", root,
			"partial:" + none +
				"no_network_namespace,no_own_root,no_own_user,no_capabilities,no_process_limit,no_memory_limit"},
		{"container", user,
			"partial:" + none + "no_network_namespace,no_own_root,no_process_limit,no_memory_limit"},
		{"no users", user,
			"partial:" + none + "no_network_namespace,no_own_root,no_process_limit,no_memory_limit"},
		{"no filter", user, "partial:no_seccomp"},
		{"shipped", root, "full"},
		{"shipped", user, "full"},
	} {
		if os.Geteuid() != 0 && test.uid == root {
			continue
		}
		if got := measureIn(t, test.name, test.uid)[0]; got != test.want+" <nil>" {
			t.Errorf("%s, user %d:\ngot  %s\nwant %s", test.name, test.uid, got, test.want)
		}
	}
}

func measureIn(t *testing.T, name string, uid int) []string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "c")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := dir + "/host"
	if err := os.WriteFile(program, self, 0o755); err != nil {
		t.Fatal(err)
	}
	filter, err := os.ReadFile(shippedFilter)
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: program, Args: []string{"measured", name},
		Env: []string{"TMPDIR=" + dir, "FILTER=" + string(filter)}, Stderr: os.Stderr}
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, uid, uid); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid),
			Gid: uint32(uid)}}
	}
	out, err := cmd.Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != 2 {
		t.Fatalf("%s: %q, %v", name, out, err)
	}
	return lines
}

// hoard takes shared memory, which the kernel's limit of data does not count.
func hoard() {
	const size = 96 << 20
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		os.Exit(1)
	}
	for i := 0; i < size; i += 4096 {
		memory[i] = 1
	}
	os.Stdout.WriteString("taken\n")
	time.Sleep(time.Minute)
}

func TestSharedMemoryCounts(t *testing.T) {
	ring.Undetected(t, "programs with the race detector have no sandbox")
	for _, test := range []struct {
		limit uint64
		ends  bool
		wait  time.Duration // less than the minute after which it ends by itself
	}{{64 << 20, true, 40 * time.Second}, {1 << 30, false, 3 * time.Second}} {
		c := config(t, "hoard", sandbox.Auto)
		c.Limits.MemoryBytes = test.limit
		p := mustStart(t, c)
		if p.Level().String() != sandbox.LevelFull {
			t.Skipf("needs the full sandbox; this machine has %q", p.Level())
		}
		select {
		case <-p.Done():
			if !test.ends || !strings.Contains(p.Exit(), "more than 64 MiB") {
				t.Errorf("with %d MiB it ended with %q", test.limit>>20, p.Exit())
			}
		case <-time.After(test.wait):
			if test.ends {
				t.Errorf("it took %d MiB of shared memory and more", test.limit>>20)
			}
		}
	}
}

// TestKilledHostsAreSweptUp: what a host that was killed left behind goes with the next start.
func TestKilledHostsAreSweptUp(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "c") // a short path, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	t.Setenv("TMPDIR", base)
	first, err := newSocketFolder()
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(filepath.Dir(filepath.Dir(first.dir)), "room-left")
	if err := os.MkdirAll(filepath.Join(left, "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	first.remove()
	second, err := newSocketFolder()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the folder of a killed host: %v", err)
	}
	second.remove()
	second.remove()
	if entries, err := os.ReadDir(base); err != nil || len(entries) != 0 {
		t.Errorf("in the end there is %v, %v", entries, err)
	}
}

// TestForeignFolder: in a shared temporary folder another user may have taken the name.
func TestForeignFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: only root can change the owner of a folder")
	}
	base, err := os.MkdirTemp("/tmp", "c")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	t.Setenv("TMPDIR", base)
	theirs := filepath.Join(base, "as-0")
	if err := os.Mkdir(theirs, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(theirs, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if f, err := newSocketFolder(); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		f.remove()
		t.Errorf("got %v", err)
	}
}
