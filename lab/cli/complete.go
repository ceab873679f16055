package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/hint"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/split"
)

// choice is a flag with the values that it takes.
type choice struct {
	flag   string
	values []string
}

// choicesOf is where a flag keeps its values for messages.
const choicesOf = "assay_choices"

// Values are what can stand at one place of a command line, given the arguments before
// it. A description may follow, see cobra.CompletionWithDesc.
type Values func(args []string) []string

// OneOf declares the values of a flag: they complete it, and Action refuses another
// one, naming them.
func (a *App) OneOf(c *cobra.Command, flag string, values ...string) {
	a.offered[c] = append(a.offered[c], choice{flag, values})
	a.offer(c, flag, values)
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
	_ = c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		return matching(values(args), begun, nil), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	})
}

// Folder completes a flag with folders.
func (a *App) Folder(c *cobra.Command, flag string) {
	_ = c.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	})
}

// Arguments completes the arguments of a command, by position; the last one is for all
// that follow. Words that stand there already are not offered again. nil offers files.
func (a *App) Arguments(c *cobra.Command, places ...Values) {
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
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
		return matching(places[at](args), begun, args), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// CapsuleFile completes the argument of a command with the capsules of the state
// directory, and where none of them matches with files.
func (a *App) CapsuleFile(c *cobra.Command) {
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
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
		minute := strings.Replace(r.CompletedAt[:min(len(r.CompletedAt), len("2006-01-02T15:04"))], "T", " ", 1)
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

// rowsLimit is how long a completion may take: somebody is waiting for a key.
const rowsLimit = 2 * time.Second

// rows are those of the registry, the newest first. A registry that is not there is not
// made: pressing a key must leave no trace.
func (a *App) rows(f registry.Filter) []registry.Run {
	dir := filepath.Join(a.FindStateDir(), "runs")
	if _, err := os.Stat(filepath.Join(dir, registry.FileName)); err != nil {
		return nil
	}
	ctx, done := context.WithTimeout(context.Background(), rowsLimit)
	defer done()
	reg, err := registry.Open(ctx, artifact.NewStore(dir), nil)
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
	said := ""
	if alike := hint.Nearest(value, values); len(alike) > 0 {
		said = ": did you mean " + strings.Join(alike, " or ") + "?"
	}
	e := Usage(flag, "%q is not one of %s%s", value, strings.Join(values, ", "), said)
	e.Details["valid"] = values
	return e
}

// completionCommand writes the scripts by which shells ask this program what could
// come next.
func (a *App) completionCommand() *cobra.Command {
	shells := []struct {
		name, load string
		script     func(*cobra.Command, io.Writer) error
	}{
		{"bash", "source <(lab completion bash)", func(c *cobra.Command, w io.Writer) error { return c.GenBashCompletionV2(w, true) }},
		{"zsh", "lab completion zsh > \"${fpath[1]}/_lab\"", (*cobra.Command).GenZshCompletion},
		{"fish", "lab completion fish > ~/.config/fish/completions/lab.fish", func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) }},
		{"powershell", "lab completion powershell | Out-String | Invoke-Expression", (*cobra.Command).GenPowerShellCompletionWithDesc},
	}
	var commands []*cobra.Command
	for _, s := range shells {
		c := &cobra.Command{
			Use: s.name, Short: "Write the completion script for " + s.name,
			Long: "The script lets " + s.name + " complete commands, flags, strategies, runs, splits, metrics and formats. It asks\n" +
				"this program at each key, which then reads the registry and writes nothing.",
			Example: Examples(s.load),
			Args:    cobra.NoArgs,
		}
		commands = append(commands, a.Action(c, func(context.Context, []string) (Outcome, error) {
			var b bytes.Buffer
			err := s.script(c.Root(), &b)
			text := b.String()
			return Outcome{Result: map[string]string{"shell": s.name, "script": text}, Print: func(w io.Writer) { fmt.Fprint(w, text) }}, err
		}))
	}
	return a.Group("completion", "Write a completion script for a shell", commands...)
}
