package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/page"
	"github.com/assay-run/assay/lab/report"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/family"
)

func reportCommand(a *App) *cobra.Command {
	c := &cobra.Command{
		Use:   "report <run>",
		Short: "Write the page of a run: one HTML file",
		Long: "Report makes the tear sheet of a run, or the page of a falsification, and prints where it " +
			"is. The\n" +
			"file opens without a network and has no script. It is made from the stored data each time, " +
			"with what\n" +
			"was tried since. Of a locked test it has no number.",
		Example: Examples(
			"lab report run_6rvs7gxczpvrxcpd",
			"lab report run_6rvs7gxczpvrxcpd --json",
		),
	}
	a.Arguments(c, a.Runs)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		var path string
		err := withRegistry(ctx, a, func(store *artifact.Store, reg *registry.Registry) (err error) {
			candles, err := candle.Open(ctx, a.StateDir)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, candles.Close()) }()
			source := report.Source{Artifacts: store, Registry: reg, Candles: candles}
			path, err = writeReport(ctx, a, source, args[0])
			return err
		})
		if err != nil {
			return Outcome{}, err
		}
		return Outcome{Result: map[string]any{"run_id": args[0], "path": path},
			Print: func(w io.Writer) {
				fmt.Fprintln(w, filepath.Join(a.StateDir, filepath.FromSlash(path)))
			}}, nil
	})
}

// sayPage writes the page of a run that a command has made and says where it is. The run stands
// without it.
func sayPage(ctx context.Context, a *App, h *request.Host, runID string) {
	path, err := writeReport(ctx, a,
		report.Source{Artifacts: h.Artifacts, Registry: h.Registry, Candles: h.Candles}, runID)
	if err != nil {
		a.Note(Warning{Code: "NO_PAGE",
			Message: fmt.Sprintf("the page of %s was not written: %v", runID, err)})
		return
	}
	a.say("page: %s", filepath.Join(a.StateDir, filepath.FromSlash(path)))
}

// pagePath is where the page of a run, a family or a comparison is, below the state directory.
func pagePath(id string) string { return page.Folder + "/" + id + "/" + page.FileName }

// writeReport writes the page of a run and returns its path below the state directory.
func writeReport(ctx context.Context, a *App, s report.Source, runID string) (string, error) {
	text, err := s.Page(ctx, runID)
	var changed *artifact.MismatchError
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return "", runNotFound(runID)
	case errors.As(err, new(*artifact.FolderError)):
		return "", err
	case errors.As(err, &changed):
		return "", request.Errorf(request.CodeArtifactMismatch, "%v", err).With("run_id", runID)
	case err != nil:
		return "", err
	}
	return pagePath(runID), writePage(a, runID, text)
}

// writePage puts a page into its folder.
func writePage(a *App, id string, text []byte) error {
	path := filepath.Join(a.StateDir, filepath.FromSlash(pagePath(id)))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return file.Write(path, text, 0o600)
}

// familyPage writes the page of a family, and that of its selected run, to which it leads.
func familyPage(ctx context.Context, a *App, h *request.Host, s *family.Search, o *family.Outcome,
	run *request.Result) error {
	source := report.Source{Artifacts: h.Artifacts, Registry: h.Registry, Candles: h.Candles}
	var holding []float64
	if run != nil && run.Metadata != nil {
		days := make([]string, len(o.Equity))
		for i, l := range o.Equity {
			days[i] = l.Date
		}
		var err error
		if holding, err = source.Holding(ctx, run.Metadata, days); err != nil {
			return err
		}
		if _, err := writeReport(ctx, a, source, run.RunID); err != nil {
			return err
		}
	}
	view, err := family.PageOf(s, o, run, holding)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := view.Write(&text); err != nil {
		return err
	}
	return writePage(a, s.ID, text.Bytes())
}
