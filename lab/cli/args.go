package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/base/hint"
)

// guard makes every refusal of the command line, of all commands of a tree, an *Error
// that names the word to blame and says what to write instead.
func guard(c *cobra.Command) {
	check := c.Args
	c.Args = func(cmd *cobra.Command, args []string) error {
		if cmd.HasSubCommands() && len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		if check == nil {
			return nil
		}
		if err := check(cmd, args); err != nil {
			return wrongArgs(cmd, args, err)
		}
		return nil
	}
	c.SetFlagErrorFunc(wrongFlag)
	for _, sub := range c.Commands() {
		guard(sub)
	}
}

// unknownCommand suggests a neighbour that is written alike, or the place where a
// command of that name is.
func unknownCommand(c *cobra.Command, word string) *Error {
	var names []string
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	suggested := hint.Nearest(word, names)
	if len(suggested) == 0 {
		suggested = elsewhere(c.Root(), word)
	} else {
		for i := range suggested {
			suggested[i] = c.CommandPath() + " " + suggested[i]
		}
	}
	said := "there are " + strings.Join(names, ", ")
	if len(suggested) > 0 {
		said = "did you mean " + strings.Join(suggested, " or ") + "?"
	}
	e := Usage(word, "unknown command %q for %q: %s; see %s --help", word, c.CommandPath(), said, c.CommandPath())
	e.Details["suggestions"] = append([]string{}, suggested...)
	return e
}

// elsewhere is the paths of the commands below c that have a name.
func elsewhere(c *cobra.Command, name string) []string {
	var found []string
	for _, sub := range c.Commands() {
		if sub.Name() == name {
			found = append(found, sub.CommandPath())
		}
		found = append(found, elsewhere(sub, name)...)
	}
	return found
}

// wrongArgs names the argument that is missing, or the first that is too many.
func wrongArgs(c *cobra.Command, args []string, err error) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	wanted, more := positions(c)
	help := fmt.Sprintf("write %s; see %s --help", usageOf(c), c.CommandPath())
	if example := firstExample(c); example != "" {
		help = fmt.Sprintf("write %s, for example: %s; see %s --help", usageOf(c), example, c.CommandPath())
	}
	switch {
	case len(args) < len(wanted):
		return Usage(wanted[len(args)], "%s is missing: %s", wanted[len(args)], help)
	case !more && len(wanted) == 0:
		return Usage(args[0], "%q is too much: %s takes no arguments; see %s --help", args[0], c.CommandPath(), c.CommandPath())
	case !more && len(args) > len(wanted):
		return Usage(args[len(wanted)], "%q is too much: %s", args[len(wanted)], help)
	}
	return Usage(strings.Join(wanted, " "), "%v: %s", err, help)
}

// positions reads the usage line: the arguments that must be there, and whether more
// may follow. Flags in it, from the first -- on, are no arguments.
func positions(c *cobra.Command) (wanted []string, more bool) {
	for _, word := range strings.Fields(c.Use)[1:] {
		switch {
		case strings.HasPrefix(word, "--"):
			return wanted, more
		case strings.HasPrefix(word, "["):
			more = true
		case strings.HasSuffix(word, "..."):
			wanted, more = append(wanted, strings.TrimSuffix(word, "...")), true
		default:
			wanted = append(wanted, word)
		}
	}
	return wanted, more
}

// usageOf is the usage line of a command without its flags.
func usageOf(c *cobra.Command) string {
	path := c.CommandPath()
	if c.HasParent() {
		path = c.Parent().CommandPath() + " " + c.Use
	}
	return path
}

// firstExample is the first line of the examples, without its remark.
func firstExample(c *cobra.Command) string {
	line, _, _ := strings.Cut(strings.TrimSpace(c.Example), "\n")
	line, _, _ = strings.Cut(line, "    #")
	return strings.TrimSpace(line)
}

// valueError are the errors of flags whose value cannot be read.
type valueError interface{ GetValue() string }

// nameError are those of flags that are not there, or lack a value.
type nameError interface{ GetSpecifiedName() string }

// wrongFlag says which flag could be meant, or what its values look like.
func wrongFlag(c *cobra.Command, err error) error {
	var value valueError
	var name nameError
	flag := flagOf(err)
	see := "; see " + c.CommandPath() + " --help"
	switch {
	case errors.As(err, &value):
		return Usage(flag, "%s takes %s, not %q%s", flag, kindOf(c, flag), value.GetValue(), see)
	case errors.As(err, &name) && known(c, name.GetSpecifiedName()):
		flag = "--" + name.GetSpecifiedName()
		return Usage(flag, "%s lacks its value, %s: %s%s", flag, kindOf(c, flag), c.Flag(name.GetSpecifiedName()).Usage, see)
	case errors.As(err, &name):
		said := ""
		alike := hint.Nearest(name.GetSpecifiedName(), flagNames(c))
		for i := range alike {
			alike[i] = "--" + alike[i]
		}
		if len(alike) > 0 {
			said = ": did you mean " + strings.Join(alike, " or ") + "?"
		}
		e := Usage(flag, "%s%s%s", err, said, see)
		if e.Details == nil { // a shorthand
			e.Details = map[string]any{"flag": "-" + name.GetSpecifiedName()}
		}
		e.Details["suggestions"] = append([]string{}, alike...)
		return e
	}
	return Usage(flag, "%s%s", err, see)
}

func known(c *cobra.Command, name string) bool { return c.Flag(name) != nil }

// flagNames are the flags of a command, read from its help: the package of flags
// itself is no business of this program.
func flagNames(c *cobra.Command) []string {
	var names []string
	for line := range strings.Lines(c.LocalFlags().FlagUsages() + c.InheritedFlags().FlagUsages()) {
		for _, word := range strings.Fields(line) {
			if !strings.HasPrefix(word, "-") {
				break
			}
			if name, ok := strings.CutPrefix(word, "--"); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// kindOf says what the values of a flag look like: those that were declared, or its
// type.
func kindOf(c *cobra.Command, flag string) string {
	f := c.Flag(strings.TrimPrefix(flag, "--"))
	if f == nil {
		return "another value"
	}
	if values := f.Annotations[choicesOf]; len(values) > 0 {
		return "one of " + strings.Join(values, ", ")
	}
	switch f.Value.Type() {
	case "bool":
		return "true or false"
	case "int", "int64":
		return "a whole number such as 10"
	case "uint", "uint64":
		return "a whole number from 0 on"
	case "float64":
		return "a number such as 0.5"
	case "duration":
		return "a duration such as 30s or 2m"
	}
	return "a text"
}

// Unknown refuses a name that an argument gives and nobody has, with the nearest of
// those that there are. What follows a tab in them is a description.
func Unknown(argument, name string, names []string) *Error {
	words := make([]string, len(names))
	for i, n := range names {
		words[i], _, _ = strings.Cut(n, "\t")
	}
	alike := hint.Nearest(name, words)
	said := "there are " + strings.Join(words, ", ")
	if len(alike) > 0 {
		said = "did you mean " + strings.Join(alike, " or ") + "?"
	}
	e := Usage(argument, "there is no %s %q: %s", argument, name, said)
	e.Details["suggestions"] = append([]string{}, alike...)
	return e
}
