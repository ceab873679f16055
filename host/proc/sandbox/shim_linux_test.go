package sandbox

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/assay-run/assay/host/hosttest/ring"
)

func TestMain(m *testing.M) {
	if os.Args[0] == "inside" {
		inside()
		return
	}
	os.Exit(m.Run())
}

// inside prints what a process finds after the shim.
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
	powers := caps[0].Permitted | caps[0].Effective | caps[1].Permitted | caps[1].Effective
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"files": files.Max, "cores": cores.Max, "no_new_privs": noNew, "death_signal": dead,
		"shim": os.Getenv(envName) != "", "proc": len(status) > 0, "powers": powers,
	})
}

// runShim starts this program as the shim and returns its reports and its output.
func runShim(t *testing.T, change func(*Policy)) (reports []Report, stdout string) {
	t.Helper()
	ring.Undetected(t, "programs with the race detector have no sandbox")
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
	parent, alive, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer parent.Close()
	defer alive.Close()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := Policy{
		Program: program, Binary: 3, Parent: 4, Status: 5, SocketDir: t.TempDir(), Libraries: true,
		Limits: DefaultLimits(),
		Host:   HostNamespaces(), Refused: map[string]string{}, Rung: Rungs(os.Geteuid() == 0, false)[0],
		User: PickUser(),
	}
	p.Limits.OpenFiles = 99
	change(&p)
	line, err := p.Environ()
	if err != nil {
		t.Fatal(err)
	}
	attributes := &syscall.SysProcAttr{}
	if err := p.Rung.Isolate(attributes); err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{
		Path: Executable(), Args: []string{"inside"}, Env: []string{line},
		ExtraFiles: []*os.File{self, parent, w},
		Stderr:     os.Stderr, SysProcAttr: attributes,
	}
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
	for i, rung := range Rungs(os.Geteuid() == 0, false) {
		reports, out := runShim(t, func(p *Policy) {
			p.Rung = rung
			if !rung.Root {
				p.User = 0
			}
		})
		if len(reports) != 2 || !reports[0].Ready || reports[0].Failed != "" || !reports[1].Ended ||
			reports[1].Code != 0 {
			t.Fatalf("rung %d: reports %+v", i, reports)
		}
		level := Level{Parts: reports[0].Parts}
		t.Logf("rung %d: %s: %s", i, level, level.Lacks())
		if i == 0 && level.String() != LevelFull {
			t.Errorf("the best rung is %s: %s", level, level.Lacks())
		}
		want := `{"cores":0,"death_signal":9,"files":99,"no_new_privs":1,"powers":0,"proc":false,"shim":false}`
		if os.Geteuid() == 0 && !rung.Root {
			want = strings.Replace(want, `"powers":0`, `"powers":6`, 1) // those that pass file permissions
		}
		if strings.TrimSpace(out) != want {
			t.Errorf("rung %d: got  %s\nwant %s", i, out, want)
		}
	}
}

func TestShimRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Policy)
		want   string
	}{
		"incomplete": {func(p *Policy) {
			p.Require, p.Rung, p.User = true, Rung{}, 0
		}, "the sandbox is incomplete: user_namespace"},
		// the null device can be read at once
		"no host":       {func(p *Policy) { p.Parent = 0 }, "the host is gone"},
		"no dataset":    {func(p *Policy) { p.ReadOnly = []string{"/absent"} }, "/absent"},
		"no folder":     {func(p *Policy) { p.SocketDir = "/absent" }, "own_root"},
		"no program":    {func(p *Policy) { p.Binary = 77 }, "program"},
		"other program": {func(p *Policy) { p.Program = "/proc/1/exe" }, "/proc/1/exe"},
	} {
		reports, out := runShim(t, test.change)
		if len(reports) != 1 || out != "" {
			t.Errorf("%s: %+v, %q", name, reports, out)
			continue
		}
		if last := reports[0]; !strings.Contains(last.Failed, test.want) ||
			last.Refused != (name == "incomplete") {
			t.Errorf("%s: got %+v", name, last)
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	var reports []Report
	var out string
	// The shim is a Go program, too: now and then it is the one that 8 MiB are too little for, before it
	// reports.
	for try := 0; try < 5 && len(reports) == 0; try++ {
		reports, out = runShim(t, func(p *Policy) { p.Limits.DataBytes = 8 << 20 })
	}
	if len(reports) == 0 || reports[0].Failed != "" {
		t.Fatalf("reports %+v", reports)
	}
	if out != "" {
		t.Errorf("a Go program ran in 8 MiB: %s", out)
	}
}
