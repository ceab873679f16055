// Command rings runs the tests of one ring (package [ring]): `rings quick`, `rings test`,
// `rings prove` or `rings soak`. What belongs to a ring is read from the tests: which
// packages start goroutines, which tests size themselves by the ring. No list of names is
// kept anywhere.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// runner runs one ring.
type runner struct {
	sum     string // gotestsum@version
	race    bool
	stream  bool // print test events instead of a summary
	slowest string
	minutes int
	out     string
	summary summary
	base    string
}

func main() {
	var r runner
	flags := flag.NewFlagSet("rings", flag.ExitOnError)
	flags.StringVar(&r.sum, "gotestsum", "", "module@version of the runner that prints the summary")
	flags.BoolVar(&r.race, "race", false,
		"use the race detector where goroutines share memory (needs a C compiler)")
	flags.BoolVar(&r.stream, "stream", false,
		"print the tests' events as JSON (for the runner that prints the summary)")
	flags.StringVar(&r.slowest, "costliest", "", "stream: write the packages that took longest to this file")
	flags.IntVar(&r.minutes, "minutes", 10, "soak: for how long that goes on which has no other end")
	flags.StringVar(&r.out, "o", "", "soak: write the figures to this file")
	flags.StringVar(&r.summary.Date, "date", "", "soak: date of the run, for the file")
	flags.StringVar(&r.summary.Commit, "commit", "", "soak: commit of the tree, for the file")
	flags.StringVar(&r.base, "since", "HEAD", "quick: test what differs from this commit")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: rings [options] quick|test|prove|soak")
		flags.PrintDefaults()
	}
	_ = flags.Parse(os.Args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := r.run(ctx, flags.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "rings:", err)
		os.Exit(1)
	}
}

func (r *runner) run(ctx context.Context, name string) error {
	switch name {
	case "quick":
		return r.quick(ctx)
	case "test":
		return r.summarized(ctx, name, ring.Test)
	case "prove":
		return r.summarized(ctx, name, ring.Prove)
	case "soak":
		return r.summarized(ctx, name, ring.Soak)
	}
	return fmt.Errorf("%q is no ring: quick, test, prove or soak", name)
}

// summarized runs a ring behind gotestsum, which prints one summary for all of its parts,
// and holds proofs to the table of figures. It prints that table only if it is not reached,
// so that the summary is the last line.
func (r *runner) summarized(ctx context.Context, name string, at ring.Ring) error {
	if r.stream {
		return r.streamed(ctx, at)
	}
	temp, err := os.MkdirTemp("", "rings-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	install := command(ctx, "go", "install", r.sum)
	install.Env = append(install.Environ(), "GOBIN="+temp)
	if out, err := install.CombinedOutput(); err != nil {
		return fmt.Errorf("go install %s: %w\n%s", r.sum, err, out)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	figures, costliest := filepath.Join(temp, "figures"), filepath.Join(temp, "costliest")
	// What it prints passes through a pipe, which has no colours of its own.
	cmd := command(ctx, filepath.Join(temp, "gotestsum"), "--format", "pkgname",
		fmt.Sprintf("--no-color=%t", !isTerminal(os.Stdout)), "--raw-command", "--",
		self, "-stream", "-costliest", costliest, fmt.Sprintf("-race=%t", r.race), name)
	cmd.Env = append(cmd.Environ(), "ASSAY_FIGURES="+figures, fmt.Sprint("ASSAY_MINUTES=", r.minutes))
	if at > ring.Test {
		cmd.Env = append(cmd.Env, ring.Variable+"="+name)
	}
	printed, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, os.Stderr
	var shown sync.WaitGroup
	shown.Go(func() { _ = printed.CloseWithError(showSummary(os.Stdout, printed, costliest)) })
	err = cmd.Run()
	_ = write.Close()
	shown.Wait()
	if at < ring.Prove || err != nil && at == ring.Prove {
		return err
	}
	var table bytes.Buffer
	missing := judgeFigures(figures, at, r.out, r.summary, &table)
	if missing != nil || at == ring.Soak {
		_, _ = io.Copy(os.Stdout, &table)
	}
	if err == nil {
		err = missing
	}
	return err
}

// part is one call of go test.
type part struct {
	packages []string
	args     []string
	env      []string
	beside   bool // waits more than it computes
	alone    bool // wants nothing to run beside it
	proofs   int  // how many tests it has that size themselves
}

// streamed prints the test events of all parts of a ring. The parts of make soak, which
// measures for long, run one after the other. Else there are two lanes: those that wait run in
// one, one after the other and before anything else, and the rest in the other and, when it is
// free, in both; those that want to be alone come last.
func (r *runner) streamed(ctx context.Context, at ring.Ring) error {
	all, err := load(ctx)
	if err != nil {
		return err
	}
	parts, limit := provingParts(all, r.race, at), "180m"
	if at == ring.Test {
		parts, limit = testParts(all), "15m"
	}
	built, err := filepath.Abs(programs)
	if err != nil {
		return err
	}
	for _, folder := range []string{"computing", "waiting"} {
		if err := os.MkdirAll(filepath.Join(built, folder), 0o755); err != nil {
			return err
		}
	}
	var lanes sync.WaitGroup
	var mu sync.Mutex
	took, failed := costs{}, false
	run := func(p part) {
		if len(p.packages) == 0 {
			return
		}
		args := []string{"test", "-json", "-count=1", "-vet=off", "-timeout", limit}
		cmd := command(ctx, "go", slices.Concat(args, p.args, p.packages)...)
		// Without DWARF a test, and what tests build, links in two thirds of the time; without
		// symbols, too, there is less to hash where programs are.
		cmd.Env = append(cmd.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -ldflags=-s",
			hosttest.ProgramsVariable+"="+built)
		cmd.Env = append(cmd.Env, p.env...)
		cmd.Stdout, cmd.Stderr = &lineWriter{mu: &mu, out: os.Stdout, costs: took}, os.Stderr
		if err := cmd.Run(); err != nil {
			mu.Lock()
			failed = true
			mu.Unlock()
		}
	}
	var waiting, computing, last []part
	for _, p := range parts {
		switch {
		case at == ring.Soak:
			computing = append(computing, p)
		case p.alone:
			last = append(last, p)
		case p.beside:
			waiting = append(waiting, p)
		default:
			computing = append(computing, p)
		}
	}
	rest := queue(computing)
	lane := func(queues ...<-chan part) {
		for _, parts := range queues {
			for p := range parts {
				run(p)
			}
		}
	}
	if len(waiting) > 0 {
		lanes.Go(func() { lane(queue(waiting), rest) })
	}
	lane(rest)
	lanes.Wait()
	lane(queue(last))
	if r.slowest != "" {
		if err := os.WriteFile(r.slowest, []byte(took.costliest()), 0o600); err != nil {
			return err
		}
	}
	if failed {
		os.Exit(1) // the events say what failed
	}
	return ctx.Err()
}

// queue returns a channel that holds the parts and is closed.
func queue(parts []part) <-chan part {
	c := make(chan part, len(parts))
	for _, p := range parts {
		c <- p
	}
	close(c)
	return c
}

// lineWriter writes whole lines to out, so that the events of two processes do not mix, and adds
// what they say of packages to costs.
type lineWriter struct {
	mu    *sync.Mutex
	out   io.Writer
	costs costs
	rest  []byte
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	l.mu.Lock()
	_, err := l.out.Write(l.rest[:end])
	l.costs.add(l.rest[:end])
	l.mu.Unlock()
	l.rest = append(l.rest[:0], l.rest[end:]...)
	return len(p), err
}

// command returns a process that is asked to end, and given time to end what it started, when
// ctx is done.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}

// output runs a command and returns what it prints, without the last line break.
func output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := command(ctx, name, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimRight(string(out), "\n"), nil
}
