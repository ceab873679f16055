package sandbox

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	MaybeShim()
	if os.Args[0] == "inside" {
		inside()
		return
	}
	os.Exit(m.Run())
}

// inside tells what a process finds after the shim.
func inside() {
	var files, cores syscall.Rlimit
	_ = syscall.Getrlimit(unix.RLIMIT_NOFILE, &files)
	_ = syscall.Getrlimit(unix.RLIMIT_CORE, &cores)
	noNew, _ := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	var dead int32
	_ = unix.Prctl(unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&dead)), 0, 0, 0)
	status, _ := os.ReadFile("/proc/self/status")
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	_ = unix.Capget(&header, &caps[0])
	const passing = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	powers := caps[0].Permitted&^passing | caps[0].Effective&^passing | caps[1].Permitted | caps[1].Effective
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"files": files.Max, "cores": cores.Max, "no_new_privs": noNew, "death_signal": dead,
		"shim": InShim(), "proc": len(status) > 0, "powers": powers,
	})
}

// shim starts this program as the shim and returns its report and its output.
func shim(t *testing.T, change func(*Policy)) (reports []Report, stdout string) {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := Policy{HostPID: os.Getpid(), Binary: 3, Status: 4, SocketDir: t.TempDir(), Libraries: true, Limits: DefaultLimits()}
	p.Limits.OpenFiles = 99
	change(&p)
	line, err := p.Environ()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: Executable(), Args: []string{"inside"}, Env: []string{line}, ExtraFiles: []*os.File{self, w}, Stderr: io.Discard}
	out, _ := cmd.Output()
	_ = w.Close()
	d := json.NewDecoder(r)
	for {
		var report Report
		if err := d.Decode(&report); err == io.EOF {
			return reports, string(out)
		} else if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, report)
	}
}

func TestShim(t *testing.T) {
	reports, out := shim(t, func(*Policy) {})
	if len(reports) != 1 || !reports[0].Ready || reports[0].Failed != "" {
		t.Fatalf("reports %+v", reports)
	}
	want := `{"cores":0,"death_signal":9,"files":99,"no_new_privs":1,"powers":0,"proc":false,"shim":false}`
	if slices.Contains(reports[0].Missing, "no_landlock") {
		want = strings.Replace(want, `"proc":false`, `"proc":true`, 1)
	}
	if strings.TrimSpace(out) != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
}

func TestShimRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Policy)
		want   string
	}{
		"incomplete":   {func(p *Policy) { p.Require, p.Network = true, true }, "the sandbox is incomplete: no_network_namespace"},
		"other parent": {func(p *Policy) { p.HostPID = 1 << 30 }, "the host is gone"},
		"no dataset":   {func(p *Policy) { p.ReadOnly = []string{"/absent"} }, "/absent"},
		"no folder":    {func(p *Policy) { p.SocketDir = "/absent" }, "socket folder"},
		"no program":   {func(p *Policy) { p.Binary = 77 }, "program"},
	} {
		reports, out := shim(t, test.change)
		if len(reports) == 0 || out != "" {
			t.Errorf("%s: %+v, %q", name, reports, out)
			continue
		}
		last := reports[len(reports)-1]
		if slices.Contains(last.Missing, "no_landlock") && strings.HasPrefix(name, "no ") {
			continue
		}
		if !strings.Contains(last.Failed, test.want) || last.Refused != (name == "incomplete") {
			t.Errorf("%s: got %+v", name, last)
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	if defaultDataBytes == 0 {
		t.Skip("builds with the race detector have no limit")
	}
	var reports []Report
	var out string
	// The shim is a Go program, too: now and then it is the one that 8 MiB are too little for, before it reports.
	for try := 0; try < 5 && len(reports) == 0; try++ {
		reports, out = shim(t, func(p *Policy) { p.Limits.DataBytes = 8 << 20 })
	}
	if len(reports) == 0 || reports[0].Failed != "" {
		t.Fatalf("reports %+v", reports)
	}
	if out != "" {
		t.Errorf("a Go program ran in 8 MiB: %s", out)
	}
}

func TestIsolation(t *testing.T) {
	for _, isolate := range Isolation() {
		var a syscall.SysProcAttr
		isolate(&a)
		if a.Cloneflags&unix.CLONE_NEWNET == 0 {
			t.Errorf("no network namespace in %+v", a)
		}
	}
}
