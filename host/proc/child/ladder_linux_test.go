package child

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"

	"github.com/assay-run/assay/host/proc/sandbox"
)

// restricted are surroundings in which a host does not get everything: what its system calls
// are refused.
var restricted = map[string][]seccomp.SyscallGroup{
	"free": nil,
	// Docker's default filter for a container without CAP_SYS_ADMIN.
	"container": {namespaceFlags(unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET |
		unix.CLONE_NEWIPC | unix.CLONE_NEWUTS)},
	// A rule of AppArmor that grants user namespaces and no rights in them.
	"no mounts": {{Names: []string{"mount", "pivot_root", "umount2"}, Action: seccomp.ActionErrno | seccomp.Action(unix.EACCES)}},
	"no users":  {namespaceFlags(unix.CLONE_NEWUSER)},
	"no filter": {{Names: []string{"seccomp"}, Action: seccomp.ActionErrno | seccomp.Action(unix.EPERM)}},
}

func namespaceFlags(flags uint64) seccomp.SyscallGroup {
	return seccomp.SyscallGroup{Action: seccomp.ActionErrno | seccomp.Action(unix.EPERM),
		NamesWithCondtions: []seccomp.NameWithConditions{{Name: "clone", Conditions: seccomp.ArgumentConditions{
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
const shippedFilter = "../../../docs/container/seccomp.json"

func shipped() []seccomp.SyscallGroup {
	var profile struct {
		Syscalls []struct{ Names []string }
	}
	if err := json.Unmarshal([]byte(os.Getenv("FILTER")), &profile); err != nil || len(profile.Syscalls) != 1 {
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

// TestLadder: the level says what a machine refuses, and a plugin starts all the same.
func TestLadder(t *testing.T) {
	free := measureIn(t, "free", 0)
	if free[0] != sandbox.LevelFull+" <nil>" {
		t.Skipf("this machine's sandbox is %q, not full", free)
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
		{"no mounts", root, "partial:no_user_namespace,no_own_root,no_own_user,no_capabilities,no_process_limit"},
		{"no mounts", user, "partial:no_own_root"},
		{"container", root, "partial:" + none + "no_network_namespace,no_own_root,no_own_user,no_capabilities,no_process_limit,no_memory_limit"},
		{"container", user, "partial:" + none + "no_network_namespace,no_own_root,no_process_limit,no_memory_limit"},
		{"no users", user, "partial:" + none + "no_network_namespace,no_own_root,no_process_limit,no_memory_limit"},
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
	cmd := &exec.Cmd{Path: program, Args: []string{"measured", name}, Env: []string{"TMPDIR=" + dir, "FILTER=" + string(filter)}, Stderr: os.Stderr}
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, uid, uid); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	out, err := cmd.Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != 2 {
		t.Fatalf("%s: %q, %v", name, out, err)
	}
	return lines
}
