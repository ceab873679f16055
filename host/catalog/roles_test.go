package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// actor is a plugin that does as it is told in Start.params: a JSON array of an
// operation and its arguments. What comes of it goes back as the run's failure.
type actor struct {
	strategypb.UnimplementedStrategyServer
	spec *strategypb.Spec
	fail func()
}

func (a *actor) Describe(context.Context, *strategypb.DescribeRequest) (*strategypb.Spec, error) {
	if a.fail != nil {
		a.fail()
	}
	return a.spec, nil
}

func (a *actor) Run(stream grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]) error {
	m, err := stream.Recv()
	if err != nil {
		return err
	}
	var args []string
	if err := json.Unmarshal([]byte(m.GetStart().GetParams()), &args); err != nil {
		return err
	}
	answer, err := act(args)
	if err != nil {
		answer = "error: " + err.Error()
	}
	return stream.Send(&strategypb.PluginMessage{Message: &strategypb.PluginMessage_Failed{
		Failed: &strategypb.Failed{Code: "ANSWER", Message: answer},
	}})
}

func act(args []string) (string, error) {
	switch args[0] {
	case "read":
		b, err := os.ReadFile(args[1])
		return strconv.Itoa(len(b)), err
	case "folder":
		return os.Getwd()
	case "list":
		entries, err := os.ReadDir(args[1])
		return strconv.Itoa(len(entries)), err
	case "write":
		return "written", os.WriteFile(args[1], []byte("x"), 0o600)
	case "dial":
		conn, err := net.DialTimeout("tcp", args[1], time.Second)
		if err != nil {
			return "", err
		}
		return "connected", conn.Close()
	case "signal":
		pid, _ := strconv.Atoi(args[1])
		return "sent", syscall.Kill(pid, 0)
	case "run":
		return "ran", exec.Command(args[1]).Run()
	case "child":
		return grandchild()
	case "print":
		n, _ := strconv.Atoi(args[1])
		chunk := strings.Repeat("x", 4096)
		// File 1, not os.Stdout, which go-plugin has replaced.
		for range n / len(chunk) {
			if _, err := syscall.Write(1, []byte(chunk)); err != nil {
				return "", err
			}
		}
		return "printed", nil
	case "surroundings":
		return surroundings()
	}
	return "", fmt.Errorf("unknown operation %q", args[0])
}

// grandchild starts this program again as something that holds all files open.
func grandchild() (string, error) {
	path := "/proc/self/exe"
	if _, err := os.Stat(path); err != nil {
		path = "/program"
	}
	c := &exec.Cmd{Path: path, Args: []string{"sleeper"}, Stdout: os.NewFile(1, "1"),
		Stderr: os.NewFile(2, "2")}
	if err := c.Start(); err != nil {
		return "", err
	}
	return strconv.Itoa(c.Process.Pid), nil
}

func surroundings() (string, error) {
	var names []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		names = append(names, name)
	}
	sort.Strings(names)
	input, err := io.ReadAll(os.Stdin)
	fd, _ := strconv.Atoi(os.Getenv(sandbox.ParentEnv))
	info, statErr := os.NewFile(uintptr(fd), "parent").Stat()
	if err := errors.Join(err, statErr); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s; stdin %d; parent %s; leader %t; zone %s", strings.Join(names, " "), len(input),
		info.Mode().Type(), syscall.Getpgrp() == os.Getpid(), os.Getenv("TZ")), nil
}

func goodSpec(name string) *strategypb.Spec {
	return &strategypb.Spec{
		Name: name, DisplayName: "The " + name, Version: "1.2.0", Description: "Trades.", Author: "Ada",
		Language: "go", SdkVersion: "1.0.0", ProtocolVersion: wire.ProtocolVersion, SimId: "bar-v1:0123",
		Modes: []string{"backtest", "paper"}, Timeframes: []string{"1h", "1d"}, MinSymbols: 1, MaxSymbols: 2,
		Supports: &strategypb.Supports{Short: true, ScaleFree: true},
		ParamsSchema: `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,
			"properties":{"fast":{"type":"integer","minimum":1,"maximum":500,"default":10,"x-ui":{"widget":"slider"}},
			"mode":{"enum":["a","b"]},"nested":{"type":"object","required":["x"],"properties":{"x":{"type":"number"}}}}}`,
		DefaultParams: `{"fast":10,"mode":"a"}`,
	}
}

func serveSpec(spec *strategypb.Spec, change func(*plugin.ServeConfig)) {
	c := &plugin.ServeConfig{
		HandshakeConfig: wire.Handshake(), VersionedPlugins: wire.VersionedPlugins(&actor{spec: spec}),
		GRPCServer: plugin.DefaultGRPCServer, Logger: hclog.NewNullLogger(),
	}
	if change != nil {
		change(c)
	}
	plugin.Serve(c)
}

// roles are the plugins: what the test binary does under each name.
func roles() map[string]func() {
	good := func(name string) func() { return func() { serveSpec(goodSpec(name), nil) } }
	with := func(name string, change func(*strategypb.Spec)) func() {
		return func() {
			spec := goodSpec(name)
			change(spec)
			serveSpec(spec, nil)
		}
	}
	describing := func(name string, fail func()) func() {
		return func() {
			serveSpec(nil, func(c *plugin.ServeConfig) {
				c.VersionedPlugins = wire.VersionedPlugins(&actor{spec: goodSpec(name), fail: fail})
			})
		}
	}
	sleep := func() { time.Sleep(time.Minute) }
	return map[string]func(){
		"good":        good("good"),
		"other-name":  good("good_too"),
		"twin":        good("good"),
		"sleeper":     sleep,
		"hang":        sleep,
		"hang-later":  describing("hang-later", sleep),
		"crash-later": describing("crash-later", func() { fmt.Fprintln(os.Stderr, "oh no"); exit(7) }),
		"crash":       func() { fmt.Fprintln(os.Stderr, "first"); fmt.Fprintln(os.Stderr, "boom"); exit(3) },
		"killed":      func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) },
		"silent":      func() {},
		"chatty":      func() { fmt.Println("hello there"); sleep() },
		"flood":       func() { fmt.Print(strings.Repeat("x", 1<<20)); sleep() },
		"elsewhere": func() {
			fmt.Println("1|1|tcp|127.0.0.1:1|grpc|" + strings.Repeat("A", 64))
			sleep()
		},
		"no-cert": func() {
			fmt.Printf("1|1|unix|%s/x|grpc|\n", os.Getenv("PLUGIN_UNIX_SOCKET_DIR"))
			sleep()
		},
		"netrpc": func() {
			fmt.Printf("1|1|unix|%s/x|netrpc|\n", os.Getenv("PLUGIN_UNIX_SOCKET_DIR"))
			sleep()
		},
		"cookie": func() {
			serveSpec(goodSpec("cookie"), func(c *plugin.ServeConfig) { c.MagicCookieValue = "another" })
		},
		"protocol": func() {
			serveSpec(goodSpec("protocol"), func(c *plugin.ServeConfig) { c.VersionedPlugins = newer() })
		},
		"bad-name":     with("Bad Name", func(*strategypb.Spec) {}),
		"bad-mode":     with("bad-mode", func(s *strategypb.Spec) { s.Modes = []string{"dream"} }),
		"bad-frame":    with("bad-frame", func(s *strategypb.Spec) { s.Timeframes = []string{"hourly"} }),
		"bad-schema":   with("bad-schema", func(s *strategypb.Spec) { s.ParamsSchema = `{"type":"objekt"}` }),
		"file-schema":  with("file-schema", func(s *strategypb.Spec) { s.ParamsSchema = `{"$ref":"file:///etc/hostname"}` }),
		"bad-defaults": with("bad-defaults", func(s *strategypb.Spec) { s.DefaultParams = `{"fast":0}` }),
		"old-sdk":      with("old-sdk", func(s *strategypb.Spec) { s.ProtocolVersion = 7 }),
	}
}

// newer are the versions of a plugin from the future.
func newer() map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{
		99: wire.VersionedPlugins(&actor{spec: goodSpec("protocol")})[wire.ProtocolVersion]}
}
