package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/exchange/wire/nodump"
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
	catalog.MaybeShim()
	// Credentials of live runs pass through this memory.
	if err := nodump.Set(); err != nil {
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
