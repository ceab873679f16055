package catalog

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// debugger serves a strategy in this process, as one does that runs under a debugger.
func debugger(t *testing.T, name string) (variable string, stop func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "as-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	address := filepath.Join(dir, "s")
	l, err := net.Listen("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	strategypb.RegisterStrategyServer(s, &actor{spec: goodSpec(name)})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	stop = func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
	return fmt.Sprintf(
		`"Protocol":"grpc","ProtocolVersion":1,"Pid":%d,"Test":true,"Addr":{"Network":"unix","String":%q}`,
		os.Getpid(), address), stop
}

func TestReattach(t *testing.T) {
	address, stop := debugger(t, "good")
	o := testOptions(t)
	install(t, o.Dir, "good", "other-name")
	o.Reattach = `{"good":{` + address + `},"another":{` + address + `},"absent":{` + strings.Replace(address,
		"/s\"", "/t\"", 1) + `}}`
	c := open(t, o)
	status := map[string]string{}
	for _, s := range c.Strategies() {
		status[s.Name] = fmt.Sprintf("%s %t", s.Status, s.Debug)
		if s.Error != nil {
			status[s.Name] += " " + s.Error.Code
		}
	}
	want := map[string]string{
		"good": "available true", "good_too": "available false",
		"another": "unavailable true BAD_NAME", "absent": "unavailable true REATTACH_FAILED",
	}
	if fmt.Sprint(status) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", status, want)
	}
	s := lookup(t, c, "good")
	if s.SHA256 != "" || !s.Debug {
		t.Errorf("got %+v", s)
	}
	p := start(t, c, "good", LaunchOptions{})
	if p.PID() != os.Getpid() || p.Level().String() != "off" || p.Level().Lacks() != underDebugger ||
		p.ExitCode() != -1 || p.Exit() != "" || len(p.Tail()) != 0 {
		t.Errorf("got %+v", p)
	}
	if got := tell(t, p, "list", "/"); strings.HasPrefix(got, "error") {
		t.Errorf("got %s", got)
	}
	p.Kill("seen")
	<-p.Done()
	stop()
	_, err := c.Launch(t.Context(), s, LaunchOptions{})
	var failed *LaunchError
	if !errors.As(err, &failed) || failed.Code != CodeReattachFailed {
		t.Errorf("with the debugger gone: %v", err)
	}
}

func TestAttachedIsOneOfSeveral(t *testing.T) {
	one := `{"Protocol":"grpc","ProtocolVersion":1,"Addr":{"Network":"unix","String":"/x"}}`
	value := fmt.Sprintf(`{"dip_buyer":%s,"other":%s}`, one, one)
	for name, want := range map[string]string{"dip_buyer": "dip_buyer", "dip-buyer": "dip_buyer",
		"third": ""} {
		part, err := Attached(value, name)
		if err != nil {
			t.Fatal(err)
		}
		list, err := parseReattach(part)
		if err != nil || (want == "") != (len(list) == 0) || len(list) > 1 || want != "" &&
			list[0].name != want {
			t.Errorf("%s: %s, %v", name, part, err)
		}
	}
	if part, err := Attached("", "x"); part != "" || err != nil {
		t.Errorf("%q, %v", part, err)
	}
	if _, err := Attached("{", "x"); err == nil {
		t.Error("nonsense is read")
	}
}

func TestReattachVariable(t *testing.T) {
	good := `"Protocol":"grpc","ProtocolVersion":1,"Addr":{"Network":"unix","String":"/x"}`
	for value, want := range map[string]string{
		"":   "",
		`{}`: "",
		`{"b":{` + good + `},"a":{` + good + `}}`: "",
		`{`:                           "not a JSON object",
		`{"B":{` + good + `}}`:        "not a strategy's name",
		`{"b":{"Protocol":"netrpc"}}`: "must be \"grpc\"",
		`{"b":{"Protocol":"grpc"}}`:   "ProtocolVersion must be 1",
		`{"b":{"Protocol":"grpc","ProtocolVersion":1}}`: "Addr.Network",
	} {
		list, err := parseReattach(value)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", value, err, want)
		}
		if len(list) == 2 && list[0].name != "a" {
			t.Errorf("%s: not sorted", value)
		}
	}
	o := testOptions(t)
	o.Reattach = "{"
	if _, err := Open(t.Context(), o); err == nil {
		t.Error("a broken variable must be an error")
	}
}

func FuzzReattachVariable(f *testing.F) {
	f.Add(`{"b":{"Protocol":"grpc","ProtocolVersion":1,"Addr":{"Network":"unix","String":"/x"}}}`)
	f.Fuzz(func(t *testing.T, value string) {
		list, err := parseReattach(value)
		for _, r := range list {
			if err != nil || !ValidName(r.name) {
				t.Fatalf("%q: %+v, %v", value, r, err)
			}
		}
	})
}

func FuzzLockFile(f *testing.F) {
	f.Add([]byte(
		`{"format":1,"plugins":{"abc":{"sdk_version":"1","protocol_version":1,"spec":{"name":"good"}}}}`))
	f.Add([]byte(`{"format":1,"plugins":null}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(filepath.Join(dir, "plugins.lock.json"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		l, _ := readLock(dir)
		if err := l.set("new", goodSpec("good")); err != nil {
			t.Fatal(err)
		}
		for sum := range l.content.Plugins {
			if spec := l.spec(sum); spec != nil {
				_, _ = describe(spec)
			}
		}
		if err := l.save(proc.Store{}); err != nil {
			t.Fatal(err)
		}
	})
}
