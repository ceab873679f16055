package command

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"
)

const jsonHelp = "print JSON"

// printJSON writes one value for programs.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// complete offers values of an option to the shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	// The only error is an option that is not there, which a test of all commands finds.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
