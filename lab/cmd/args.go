package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/cli"
	"github.com/assay-run/assay/host/base/hint"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/compare"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/split"
)

// guard makes every refusal of the command line, of all commands of a tree, an *Error
// that names the word to blame and what to write instead.
func guard(c *cobra.Command) {
	c.Args = func(cmd *cobra.Command, args []string) error {
		if cmd.HasSubCommands() && len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return wrongArgs(cmd, args)
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
	advice := "there are " + strings.Join(names, ", ")
	if len(suggested) > 0 {
		advice = "did you mean " + strings.Join(suggested, " or ") + "?"
	}
	e := Usage(word, "unknown command %q for %q: %s; see %s --help", word, c.CommandPath(), advice,
		c.CommandPath())
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

// wrongArgs names the argument of the usage line that is missing, or the first that is too many.
func wrongArgs(c *cobra.Command, args []string) error {
	wanted, more := positions(c)
	help := fmt.Sprintf("write %s; see %s --help", usageOf(c), c.CommandPath())
	if example := firstExample(c); example != "" {
		help = fmt.Sprintf("write %s, for example: %s; see %s --help", usageOf(c), example, c.CommandPath())
	}
	switch {
	case len(args) < len(wanted):
		return Usage(wanted[len(args)], "%s is missing: %s", wanted[len(args)], help)
	case more || len(args) == len(wanted):
		return nil
	case len(wanted) == 0:
		return Usage(args[0], "%q is too much: %s takes no arguments; see %s --help", args[0],
			c.CommandPath(), c.CommandPath())
	}
	return Usage(args[len(wanted)], "%q is too much: %s", args[len(wanted)], help)
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

// wrongFlag reports which flag could be meant, or what its values look like.
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
		return Usage(flag, "%s lacks its value, %s: %s%s", flag, kindOf(c, flag),
			c.Flag(name.GetSpecifiedName()).Usage, see)
	case errors.As(err, &name):
		advice := ""
		alike := hint.Nearest(name.GetSpecifiedName(), flagNames(c))
		for i := range alike {
			alike[i] = "--" + alike[i]
		}
		if len(alike) > 0 {
			advice = ": did you mean " + strings.Join(alike, " or ") + "?"
		}
		e := Usage(flag, "%s%s%s", err, advice, see)
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

// kindOf reports what the values of a flag look like: those that were declared, or its
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

// Unknown refuses a name that an argument gives and that does not exist, with the nearest of
// those that there are. What follows a tab in them is a description.
func Unknown(argument, name string, names []string) *Error {
	words := make([]string, len(names))
	for i, n := range names {
		words[i], _, _ = strings.Cut(n, "\t")
	}
	alike := hint.Nearest(name, words)
	advice := "there are " + strings.Join(words, ", ")
	if len(alike) > 0 {
		advice = "did you mean " + strings.Join(alike, " or ") + "?"
	}
	e := Usage(argument, "there is no %s %q: %s", argument, name, advice)
	e.Details["suggestions"] = append([]string{}, alike...)
	return e
}

// choicesOf is where a flag keeps its values for messages.
const choicesOf = "assay_choices"

// Values are what can stand at one place of a command line, given the arguments before
// it. A description may follow, see cobra.CompletionWithDesc.
type Values func(args []string) []string

// Bind declares the flags of a command and completes them: those with values by these, the
// others by the list that their tag names. Action refuses values that are none.
func (a *App) Bind(c *cobra.Command, options any) {
	set := cli.BindFlags(c, options)
	a.bound[c] = set
	lists := map[string]Values{
		"asked": a.AskedSlugs, "candidates": a.candidates, "families": a.Families, "profiles": profiles,
		"runs-of": a.RunsOf, "splits": a.Splits, "metrics": func([]string) []string {
			return compare.Metrics()
		},
	}
	for _, f := range set.All {
		switch {
		case len(f.Values) > 0:
			a.offer(c, f.Name, f.Values)
		case f.Complete == "folder":
			a.Folder(c, f.Name)
		case strings.Contains(f.Complete, ","):
			a.Offer(c, f.Name, func([]string) []string { return strings.Split(f.Complete, ",") })
		case f.Complete != "":
			a.Offer(c, f.Name, lists[f.Complete])
		}
	}
}

// refuseFlags refuses the first flag that has none of its values, or too small a number.
func (a *App) refuseFlags(c *cobra.Command) error {
	set := a.bound[c]
	if set == nil {
		return nil
	}
	f, value, least := set.Refused()
	switch {
	case f == nil:
		return nil
	case least != 0:
		return Usage("--"+f.Name, "--%s must be at least %d", f.Name, least)
	}
	return oneOf("--"+f.Name, value, f.Values)
}

// profiles are the formats of candle files.
func profiles([]string) []string {
	var list []string
	for _, p := range importer.Profiles() {
		list = append(list, cobra.CompletionWithDesc(p.Name, p.Doc))
	}
	slices.Sort(list)
	return list
}

// offer completes a flag with fixed values.
func (a *App) offer(c *cobra.Command, flag string, values []string) {
	// Both fail only for a flag that is not there: the tests walk all of them.
	_ = c.Flags().SetAnnotation(flag, choicesOf, values)
	_ = c.PersistentFlags().SetAnnotation(flag, choicesOf, values)
	a.Offer(c, flag, func([]string) []string { return values })
}

// Offer completes a flag whose values this package does not check.
func (a *App) Offer(c *cobra.Command, flag string, values Values) {
	_ = c.RegisterFlagCompletionFunc(flag,
		func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			return matching(values(args), begun, nil),
				cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		})
}

// Folder completes a flag with folders.
func (a *App) Folder(c *cobra.Command, flag string) {
	_ = c.RegisterFlagCompletionFunc(flag,
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		})
}

// Arguments completes the arguments of a command, by position; the last one is for all
// that follow. Words that stand there already are not offered again. nil offers files.
func (a *App) Arguments(c *cobra.Command, places ...Values) {
	c.ValidArgsFunction = func(_ *cobra.Command, args []string,
		begun string) ([]string, cobra.ShellCompDirective) {
		_, more := positions(c)
		at := len(args)
		if at >= len(places) && more && len(places) > 0 {
			at = len(places) - 1
		}
		if at >= len(places) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if places[at] == nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return matching(places[at](args), begun, args),
			cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// CapsuleFile completes the argument of a command with the capsules of the state
// directory, and where none of them matches with files.
func (a *App) CapsuleFile(c *cobra.Command) {
	c.ValidArgsFunction = func(_ *cobra.Command, args []string,
		begun string) ([]string, cobra.ShellCompDirective) {
		list := matching(a.capsules(), begun, nil)
		switch {
		case len(args) > 0:
			return nil, cobra.ShellCompDirectiveNoFileComp
		case len(list) == 0:
			return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
		}
		return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// matching are the values that a word could become, but for those that stand there
// already.
func matching(values []string, begun string, but []string) []string {
	var list []string
	for _, value := range values {
		word, _, _ := strings.Cut(value, "\t")
		if strings.HasPrefix(word, begun) && !slices.Contains(but, word) {
			list = append(list, value)
		}
	}
	return list
}

// Slugs are the strategies of the project around the working directory.
func (a *App) Slugs([]string) []string {
	working, err := os.Getwd()
	if err != nil {
		return nil
	}
	var list []string
	for _, p := range project.List(working) {
		list = append(list, cobra.CompletionWithDesc(p.Slug, p.Title))
	}
	return list
}

// AskedSlugs are those, and the strategies that the registry has runs of.
func (a *App) AskedSlugs(args []string) []string {
	list := a.Slugs(args)
	for _, r := range a.rows(registry.Filter{}) {
		has := func(s string) bool { return s == r.Slug || strings.HasPrefix(s, r.Slug+"\t") }
		if r.Slug != "" && !slices.ContainsFunc(list, has) {
			list = append(list, cobra.CompletionWithDesc(r.Slug, "has runs here"))
		}
	}
	return list
}

// Runs are the ids of all runs, the newest first, each with what it is.
func (a *App) Runs([]string) []string { return describeRuns(a.rows(registry.Filter{})) }

// RunsOf are the completed runs of the strategy that the first argument names.
func (a *App) RunsOf(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	return describeRuns(a.rows(registry.Filter{Slug: args[0], Status: artifact.StatusCompleted}))
}

func describeRuns(rows []registry.Run) []string {
	var list []string
	for _, r := range rows {
		minute := strings.Replace(r.CompletedAt[:min(len(r.CompletedAt), len("2006-01-02T15:04"))], "T", " ",
			1)
		text := strings.Join([]string{r.Slug, r.Kind, r.Status, minute}, " ")
		if m, err := artifact.DecodeMetadata(r.Payload); err == nil { // a legacy payload may be anything
			var params bytes.Buffer
			if json.Compact(&params, m.Params) == nil {
				text += " " + params.String()
			}
			if s := m.Summary.SharpeRatio; s != nil {
				text += fmt.Sprintf(" sharpe %.2f", *s)
			}
		}
		list = append(list, cobra.CompletionWithDesc(r.RunID, strings.Join(strings.Fields(text), " ")))
	}
	return list
}

// Families are those of the registry.
func (a *App) Families([]string) []string {
	var list []string
	for _, r := range a.rows(registry.Filter{}) {
		if r.FamilyID != "" && !slices.Contains(list, r.FamilyID) {
			list = append(list, r.FamilyID)
		}
	}
	return list
}

// Splits are the ids of the splits of the newest run of the strategy that the first
// argument names, those of the default scheme if there is none.
func (a *App) Splits(args []string) []string {
	list := []string{cobra.CompletionWithDesc(split.RoleWalkForward, "the stitched windows")}
	filter := registry.Filter{Status: artifact.StatusCompleted}
	if len(args) > 0 {
		filter.Slug = args[0]
	}
	ids := []string{split.RoleTrain, split.RoleValidation, split.RoleTest, split.RoleSearch}
	for _, r := range a.rows(filter) {
		report, err := artifact.ReadReport(filepath.Join(a.FindStateDir(), "runs", r.RunID))
		if err != nil || r.Kind == artifact.KindService {
			continue
		}
		ids = nil
		for _, s := range report.Splits {
			ids = append(ids, cobra.CompletionWithDesc(s.ID, s.Role))
		}
		break
	}
	return append(list, ids...)
}

// capsules are the files of the failures in the state directory, the newest first.
func (a *App) capsules() []string {
	files, err := filepath.Glob(filepath.Join(a.FindStateDir(), "runs", "*", "capsules", "*.json"))
	if err != nil {
		return nil
	}
	age := map[string]time.Time{}
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			age[f] = info.ModTime()
		}
	}
	slices.SortStableFunc(files, func(x, y string) int { return age[y].Compare(age[x]) })
	return files
}

// rowsLimit is how long a completion may take: a person is waiting at the keyboard.
const rowsLimit = 2 * time.Second

// rows are those of the registry, the newest first. A registry that is not there is not
// made: pressing a key must leave no trace.
func (a *App) rows(f registry.Filter) []registry.Run {
	dir := filepath.Join(a.FindStateDir(), "runs")
	database := findDatabase(a)
	if _, err := os.Stat(filepath.Join(dir, registry.FileName)); err != nil && database == "" {
		return nil
	}
	ctx, done := context.WithTimeout(context.Background(), rowsLimit)
	defer done()
	reg, err := registry.OpenAt(ctx, database, artifact.NewStore(dir), nil)
	if err != nil {
		return nil
	}
	defer reg.Close()
	list, err := reg.ListMetadata(ctx, f)
	if err != nil {
		return nil
	}
	slices.Reverse(list)
	return list
}

// oneOf refuses a value that is none of a list.
func oneOf(flag, value string, values []string) error {
	if slices.Contains(values, value) {
		return nil
	}
	advice := ""
	if alike := hint.Nearest(value, values); len(alike) > 0 {
		advice = ": did you mean " + strings.Join(alike, " or ") + "?"
	}
	e := Usage(flag, "%q is not one of %s%s", value, strings.Join(values, ", "), advice)
	e.Details["valid"] = values
	return e
}
