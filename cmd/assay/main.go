// Command assay is the run-control service: it reads its configuration, opens what
// the host keeps in the state directory, finds the strategy plugins and serves the
// API until it is told to stop.
//
// The exit code is 0 after SIGINT or SIGTERM, 1 when something failed, 2 when the
// configuration is refused and 130 after a second signal.
package main

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/exchange/wire"
)

// Set by the linker.
var (
	version = "0.0.0"
	commit  = ""
)

// The exit codes.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitSignals = 130
)

func main() {
	// Credentials of live runs pass through this memory.
	if err := wire.DisableDump(); err != nil {
		fmt.Fprintf(os.Stderr, "assay: %v\n", err)
		os.Exit(exitFailed)
	}
	os.Exit(runCommand(os.Args[1:], world{env: os.LookupEnv, out: os.Stdout, err: os.Stderr}))
}

// world is what the program sees of its surroundings.
type world struct {
	env      func(string) (string, bool)
	out, err io.Writer
}

func runCommand(args []string, w world) int {
	cfg, done, err := readConfig(args, w)
	if done {
		return exitDone
	}
	if err == nil {
		err = serve(context.Background(), cfg, w)
	}
	var usage *usageError
	var bind *edge.BindError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage), errors.As(err, &bind):
		fmt.Fprintf(w.err, "assay: %v\n", err)
		return exitUsage
	}
	fmt.Fprintf(w.err, "assay: %v\n", err)
	return exitFailed
}

// signals turn the first SIGINT or SIGTERM into the end of a context; the second
// ends the process.
type signals struct {
	cancel context.CancelFunc
	events chan os.Signal
	done   chan struct{}
}

func watchSignals(ctx context.Context) (context.Context, *signals) {
	ctx, cancel := context.WithCancel(ctx)
	s := &signals{cancel: cancel, events: make(chan os.Signal, 2), done: make(chan struct{})}
	signal.Notify(s.events, os.Interrupt, syscall.SIGTERM)
	go s.watch()
	return ctx, s
}

func (s *signals) watch() {
	defer close(s.done)
	if _, ok := <-s.events; !ok {
		return
	}
	s.cancel()
	if _, ok := <-s.events; ok {
		os.Exit(exitSignals)
	}
}

func (s *signals) stop() {
	signal.Stop(s.events)
	close(s.events)
	<-s.done
	s.cancel()
}

// serverID is a lower-case ULID: the time in milliseconds and 80 random bits.
func serverID(now time.Time) (string, error) {
	var b [20]byte // 4 zero bytes in front make 32 characters, of which the last 26 count
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		b[9-i] = byte(ms >> (8 * i))
	}
	if _, err := rand.Read(b[10:]); err != nil {
		return "", err
	}
	return strings.ToLower(base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").EncodeToString(b[:])[6:]), nil
}
