package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// describe fills in what a command that only holds others does not say itself: the
// first example of each of them, and their names.
func describe(c *cobra.Command) {
	var names, examples []string
	for _, sub := range c.Commands() {
		describe(sub)
		if sub.Hidden {
			continue
		}
		names = append(names, sub.Name())
		if example := firstExample(sub); example != "" {
			examples = append(examples, example)
		}
	}
	if c.Example == "" && len(examples) > 0 {
		c.Example = Examples(examples...)
	}
	if c.Long == "" && len(names) > 0 {
		c.Long = c.Short + ". Its commands are " + strings.Join(names, ", ") + "."
	}
}

// help prints what a command says of itself; with --json as one object like all else.
func (a *App) help(c *cobra.Command) {
	text := strings.TrimSpace(FirstOf(c.Long, c.Short)) + "\n\n" + c.UsageString()
	if a.JSON {
		a.answer = &answer{outcome: Outcome{Result: map[string]string{"help": text}}}
		return
	}
	fmt.Fprint(a.IO.Out, text) // a closed stdout is nothing to report to
}

func (a *App) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [command...]",
		Short:   "Say what a command does",
		Long:    "Help prints what a command does, its examples and its flags, as --help after the command does.",
		Example: Examples("lab help run", "lab help runs verify"),
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			at, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var list []string
			for _, sub := range at.Commands() {
				if sub.IsAvailableCommand() {
					list = append(list, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return list, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			at := c.Root()
			for _, word := range args {
				next := child(at, word)
				if next == nil {
					return unknownCommand(at, word)
				}
				at = next
			}
			a.help(at)
			return nil
		},
	}
}

func child(c *cobra.Command, name string) *cobra.Command {
	for _, sub := range c.Commands() {
		if sub.Name() == name {
			return sub
		}
	}
	return nil
}
