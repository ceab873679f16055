package cli

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// reportTo is where faults of this program are told.
const reportTo = "https://github.com/assay-run/assay/issues"

// execute runs the command line. A panic of a command is its answer like any other
// error.
func (a *App) execute(ctx context.Context, root *cobra.Command) (cmd *cobra.Command, err error) {
	defer func() {
		if value := recover(); value != nil {
			cmd, err = a.running, nil
			if cmd == nil {
				cmd = root
			}
			a.answer = &answer{err: a.fault(value, debug.Stack())}
		}
	}()
	return root.ExecuteContextC(ctx)
}

// show prints the answer, and what went wrong with that.
func (a *App) show(command string) (exit int) {
	defer func() {
		if value := recover(); value != nil {
			a.answer = &answer{err: a.fault(value, debug.Stack())}
			exit = a.print(command)
		}
	}()
	return a.print(command)
}

// fault is a panic as an error of one line; the stack is for those who ask for it.
func (a *App) fault(value any, stack []byte) *Error {
	a.Logger.Debug("panic", "value", fmt.Sprint(value), "stack", string(stack))
	what := strings.Join(strings.Fields(fmt.Sprint(value)), " ")
	return &Error{
		Code: CodeInternal,
		Message: fmt.Sprintf("panic: %s; this is a fault of lab %s, not of yours: run it again with --log-level debug and report what it prints at %s",
			what, a.IO.Build.Version, reportTo),
		Details: map[string]any{"panic": what, "version": a.IO.Build.Version, "report": reportTo},
	}
}
