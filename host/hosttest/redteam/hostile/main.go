//go:build linux

// Command hostile is a plugin that attacks the machine: a strategy, a connector, or a file that merely
// lies in the folder of plugins. The tests of host/hosttest/redteam write into its file what it is to
// attack, and put copies into the folders of a service. Started as a bystander it is a victim.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/assay-run/assay/host/hosttest/redteam/attack"
	"github.com/assay-run/assay/plugin-sdk/serve"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"

	sdk "github.com/assay-run/assay/plugin-sdk"
)

// orders are overwritten in the file: what follows the name, up to the end, is a Target as JSON.
// It is a variable so that it stands in the file once.
var orders = "REDTEAM-ORDERS:" + room + room + room + room

const room = "                                                                " +
	"                                                                " +
	"                                                                " +
	"                                                                " +
	"                                                                " +
	"                                                                " +
	"                                                                " +
	"                                                                "

func main() {
	switch os.Getenv("REDTEAM_ROLE") {
	case "wait":
		time.Sleep(5 * time.Minute)
		return
	case "fork":
		fork()
		return
	}
	if filepath.Base(os.Args[0]) == "bystander" {
		bystander()
		return
	}
	var target attack.Target
	text := strings.TrimSpace(strings.TrimPrefix(orders, "REDTEAM-ORDERS:"))
	if err := json.Unmarshal([]byte(text), &target); err != nil {
		fmt.Fprintln(os.Stderr, "the file has no orders:", err)
		os.Exit(1)
	}
	if target.Attack == "*" {
		attempt(&target, attack.Together(target.Role))
	} else if target.Attack != "" {
		attempt(&target, []string{target.Attack})
	}
	if target.Role == "connector" {
		serveConnector()
	}
	server, err := serve.NewServer(sdk.Spec{Name: target.Mark}, func(p params) (sdk.Strategy, error) {
		target.Host, target.Second = p.Host, p.Second
		return &strategy{&target, p.Attack}, nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	plugin.Serve(&plugin.ServeConfig{HandshakeConfig: wire.Handshake(), GRPCServer: plugin.DefaultGRPCServer,
		VersionedPlugins: wire.VersionedPlugins(&eavesdropper{server, &target}),
		Logger:           hclog.NewNullLogger()})
}

// eavesdropper is the SDK's server, and reads where the candle files are.
type eavesdropper struct {
	strategypb.StrategyServer
	target *attack.Target
}

type stream = grpc.BidiStreamingServer[strategypb.HostMessage, strategypb.PluginMessage]

// Run implements strategypb.StrategyServer.
func (e *eavesdropper) Run(s stream) error { return e.StrategyServer.Run(&heard{s, e.target}) }

type heard struct {
	stream
	target *attack.Target
}

// Recv notes what the SDK keeps from the strategy.
func (h *heard) Recv() (*strategypb.HostMessage, error) {
	m, err := h.stream.Recv()
	for _, f := range m.GetDataset().GetFiles() {
		h.target.Window = append(h.target.Window, f.GetPath())
	}
	return m, err
}

type params struct {
	Attack int  `param:"attack" default:"-1" min:"-3" max:"1000" doc:"Its number, -1 all together, -2 none, -3 waits"`
	Host   int  `param:"host" default:"0" min:"0" max:"4194304" doc:"Number of the service's process"`
	Second bool `param:"second" default:"false" doc:"Whether a run was before"`
}

// strategy attacks at its first candle, and never trades.
type strategy struct {
	target *attack.Target
	number int
}

func (s *strategy) OnCandle(v sdk.View) (sdk.Intents, error) {
	if s.number == -3 {
		time.Sleep(time.Minute)
	}
	if v.Index() == 0 && s.number >= -1 {
		names := attack.Together("strategy")
		if s.number >= 0 {
			names = []string{attack.List()[s.number].Name}
		}
		attempt(s.target, names)
	}
	return nil, nil
}

// hold is how long it stays afterwards, so that it can be looked at from outside.
const hold = 300 * time.Millisecond

func attempt(t *attack.Target, names []string) {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	var report pack
	for _, a := range attack.List() {
		if !wanted[a.Name] {
			continue
		}
		report.add("begin", t.Mark, a.Name, "")
		if len(names) == 1 {
			report.send() // it may not live to say more
		}
		note, err := try(a, t)
		what := "done"
		if err != nil {
			what, note = "refused", err.Error()
		}
		report.add(what, t.Mark, a.Name, note)
	}
	report.send()
	time.Sleep(hold)
}

// try makes an attempt, unless nothing at all would stand in its way: as root without walls some would really
// hurt the machine.
func try(a attack.Attack, t *attack.Target) (string, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err == nil && have[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0 {
		return "there are no walls: it has every right", nil
	}
	return a.Do(t)
}

// pack is one line of several reports: the host passes on so many lines in a second.
type pack struct{ line []byte }

func (p *pack) add(what, mark, name, note string) {
	p.line = fmt.Appendf(p.line, "REDTEAM|%s|%s|%s|%s|", mark, what, name,
		hex.EncodeToString([]byte(note[:min(len(note), 150)])))
	if len(p.line) > 4000 {
		p.send()
	}
}

// send writes to the very descriptor: the SDK replaces the file.
func (p *pack) send() {
	_, _ = syscall.Write(2, append(p.line, '\n'))
	p.line = p.line[:0]
}

// fork ends and leaves a process behind.
func fork() {
	p, err := os.StartProcess("/proc/self/exe", []string{strings.Replace(os.Args[0], "-fork", "-wait", 1)},
		&os.ProcAttr{Env: []string{"REDTEAM_ROLE=wait"}, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err == nil {
		_ = p.Release()
	}
}

// secret is what no other process may read or change.
var secret = []byte("SECRET-of-the-bystander--------")

// bystander prints where its secret is, answers what it is, and reports signals.
func bystander() {
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, syscall.SIGUSR1)
	fmt.Println("address", uint64(uintptr(unsafe.Pointer(&secret[0]))))
	go func() {
		for range signals {
			fmt.Println("signal")
		}
	}()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println("secret", string(secret))
	}
}
