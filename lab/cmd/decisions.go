package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
)

func exportCommand(a *App) *cobra.Command {
	return a.Group("export", "Files of runs as text: decisions",
		"A run keeps its decisions compressed. Export gives them as they were decided.",
		exportDecisionsCommand(a))
}

// decisionsOptions are the flags of export decisions.
type decisionsOptions struct {
	Split      string `flag:"split" usage:"the split; needed where the run has several"`
	Out        string `flag:"out" usage:"file to write instead of stdout; one that exists is refused"`
	RevealTest bool   `flag:"reveal-test" usage:"give those of a locked split too; this is noted as a look"`
}

func exportDecisionsCommand(a *App) *cobra.Command {
	var o decisionsOptions
	c := &cobra.Command{
		Use:   "decisions <run>",
		Short: "Print the decision lines of a run",
		Long: "Decisions prints a line of JSON per intent, rejection, order change and fill. The SHA-256 " +
			"of the lines\njoined by newlines is the decision_hash of the split in report.json. With " +
			"--json it prints how many\nthere are, and they go to --out alone.",
		Example: Examples(
			"lab export decisions svc_01jd2q7z9v8k3m6t4r1x5c0wbn",
			"lab export decisions run_6rvs7gxczpvrxcpd --split train --out train.jsonl",
		),
	}
	a.Arguments(c, a.Runs)
	a.Bind(c, &o)
	return a.Action(c, func(ctx context.Context, args []string) (out Outcome, err error) {
		err = withRegistry(ctx, a, func(store *artifact.Store, reg *registry.Registry) error {
			out, err = exportDecisions(ctx, a, store, reg, args[0], o)
			return err
		})
		return out, err
	})
}

func exportDecisions(ctx context.Context, a *App, store *artifact.Store, reg *registry.Registry, id string,
	o decisionsOptions) (out Outcome, err error) {
	row, err := reg.Get(ctx, id)
	if errors.Is(err, registry.ErrNotFound) {
		return out, runNotFound(id)
	}
	if err != nil {
		return out, err
	}
	m, err := artifact.DecodeMetadata(row.Payload)
	if err != nil {
		return out, err
	}
	split, err := decidedSplit(m, o.Split)
	if err != nil {
		return out, err
	}
	body, err := store.Decisions(m, split)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	report, err := artifact.ReadReport(store.Dir(id))
	if err != nil {
		return out, err
	}
	if err := lookAt(ctx, a, reg, store.Dir(id), m, split, o.RevealTest); err != nil {
		return out, err
	}
	counted := &countedLines{to: io.Discard}
	give := func(w io.Writer) error {
		counted.to = w
		_, err := io.Copy(counted, body)
		return err
	}
	switch {
	case o.Out != "":
		err = exportTo(o.Out, give)
	case a.JSON:
		err = give(io.Discard)
	default:
		err = give(a.IO.Out)
	}
	if err != nil {
		return out, err
	}
	result := map[string]any{"run_id": id, "split": split, "lines": counted.lines, "bytes": counted.bytes,
		"decision_hash": decisionHash(report, split), "file": nil}
	out.Print = func(io.Writer) {}
	if o.Out != "" {
		result["file"] = o.Out
		out.Print = func(w io.Writer) {
			fmt.Fprintf(w, "wrote %d lines of %s, split %s, to %s (%s)\n", counted.lines, id, split, o.Out,
				byteCount(counted.bytes))
		}
	}
	out.Result = result
	return out, nil
}

// decidedSplit is the split that is asked for, or the only one of a run that has decisions.
func decidedSplit(m *artifact.Metadata, asked string) (string, error) {
	var splits []string
	for _, f := range m.Artifacts {
		name := path.Base(f.Name)
		if name == artifact.DecisionsFile || name == artifact.DecisionLinesFile {
			splits = append(splits, path.Base(path.Dir(f.Name)))
		}
	}
	switch {
	case len(splits) == 0:
		return "", Usage("run", "run %s keeps no decisions: trials and imported runs have none, nor has "+
			"a run that was interrupted", m.RunID)
	case asked == "" && len(splits) == 1:
		return splits[0], nil
	case !slices.Contains(splits, asked):
		return "", Usage("--split", "--split %s: name one of %s", cmp.Or(asked, "is missing"),
			strings.Join(splits, ", "))
	}
	return asked, nil
}

// lookAt notes a look where a split is locked, and refuses one that is not meant.
func lookAt(ctx context.Context, a *App, reg *registry.Registry, dir string, m *artifact.Metadata,
	split string, reveal bool) error {
	if _, err := artifact.ReadLocked(dir, split); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if !reveal {
		return Usage("--reveal-test", "the split %s is locked: its decisions are a look at it, which "+
			"--reveal-test asks for and notes", split)
	}
	return reg.Peek(ctx, registry.Peek{RunID: m.RunID, FamilyID: m.FamilyID, Command: "export decisions",
		Author: authorName(a)})
}

func decisionHash(r *artifact.Report, split string) string {
	i := slices.IndexFunc(r.Splits, func(s artifact.SplitReport) bool { return s.ID == split })
	if i < 0 {
		return r.DecisionHash
	}
	return r.Splits[i].DecisionHash
}

// countedLines counts what it hands on.
type countedLines struct {
	to           io.Writer
	lines, bytes int64
}

func (c *countedLines) Write(b []byte) (int, error) {
	c.lines, c.bytes = c.lines+int64(bytes.Count(b, []byte{'\n'})), c.bytes+int64(len(b))
	return c.to.Write(b)
}
