package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/holdout"
	"github.com/assay-run/assay/lab/gc"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
)

// codeLabBusy is of a removal while another lab plays in the state directory.
const codeLabBusy = "LAB_BUSY"

// mostItems is how many items the table of lab gc names.
const mostItems = 30

func gcCommand(a *App) *cobra.Command {
	var o struct {
		Yes bool `flag:"yes" usage:"remove what is listed"`
	}
	c := &cobra.Command{
		Use:   "gc",
		Short: "Show what takes how much disk space, and remove what nothing refers to",
		Long: "Gc lists what each kind of file takes, and what nothing refers to: earlier versions of " +
			"candles\nand inputs, cut candles, unfinished fetches, copies of programs, leftovers of what " +
			"was killed. With --yes these\nare removed. Whatever a run, a plan, a candidate, a hold-out or " +
			"a lab.json here names stays, and so\ndoes what was written within the last hour or belongs to " +
			"a running service. Runs are never removed.",
		Example: Examples(
			"lab gc",
			"lab gc --yes",
		),
	}
	a.Bind(c, &o)
	return a.Action(c, func(ctx context.Context, _ []string) (Outcome, error) { return runGC(ctx, a, o.Yes) })
}

func runGC(ctx context.Context, a *App, remove bool) (Outcome, error) {
	stateDir, err := filepath.Abs(a.StateDir)
	if err != nil {
		return Outcome{}, err
	}
	working, err := os.Getwd()
	if err != nil {
		return Outcome{}, err
	}
	var r gc.Report
	err = withLedger(ctx, a, func(l holdout.Ledger) (err error) {
		c := &gc.Collector{StateDir: stateDir, Candles: l.Candles, Registry: l.Registry}
		for _, dir := range []string{working, filepath.Dir(stateDir)} {
			for _, p := range project.List(dir) {
				if text, err := os.ReadFile(p.File); err == nil {
					c.Named = append(c.Named, text)
				}
			}
		}
		if remove {
			r, err = c.Remove(ctx)
		} else {
			r, err = c.Look(ctx)
		}
		return err
	})
	if errors.Is(err, gc.ErrBusy) {
		return Outcome{}, request.Errorf(codeLabBusy, "%v", err)
	}
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{
		Result: struct {
			gc.Report
			Removed bool `json:"removed"`
		}{r, remove},
		Print: func(w io.Writer) { printGC(w, r, remove) },
	}, nil
}

func printGC(w io.Writer, r gc.Report, removed bool) {
	goes := "WOULD GO"
	if removed {
		goes = "REMOVED"
	}
	rows := [][]string{{"KIND", "FILES", "ON DISK", goes, "ITEMS"}}
	for _, k := range r.Kinds {
		items := ""
		if k.Unreferenced > 0 {
			items = count(k.Unreferenced)
		}
		rows = append(rows, []string{k.Kind, count(k.Files), byteCount(k.Bytes),
			byteCount(k.UnreferencedBytes), items})
	}
	Table(w, rows)
	for i, item := range r.Items {
		if i == mostItems {
			fmt.Fprintf(w, "  and %d more: --json lists all\n", len(r.Items)-i)
			break
		}
		fmt.Fprintf(w, "  %9s  %s: %s\n", byteCount(item.Bytes), item.Path, item.Why)
	}
	all := fmt.Sprintf("%s in %d items", byteCount(r.Bytes), len(r.Items))
	switch {
	case len(r.Items) == 0:
		fmt.Fprintln(w, "nothing to remove")
	case !removed:
		fmt.Fprintf(w, "%s would go: lab gc --yes removes them\n", all)
	default:
		fmt.Fprintf(w, "removed %s\n", all)
	}
	if r.Service {
		fmt.Fprintln(w, "a service runs here: what it may use was left alone")
	}
}
