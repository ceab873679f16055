// Command governance is the control plane: it records candidate bundles in a log that
// cannot be rewritten unnoticed, and decides how far each may go.
package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/control/command"
)

// Set by the linker.
var (
	version = "0.0.0"
	commit  = ""
)

func main() {
	os.Exit(command.Run(context.Background(), os.Args[1:], command.World{
		Env: os.LookupEnv, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Now: time.Now,
		Version: strings.TrimSpace(version + " " + commit),
	}))
}
