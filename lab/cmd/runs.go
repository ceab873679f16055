package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/lab/falsify"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/selection"
)

func runsCommand(a *App) *cobra.Command {
	return a.Group("runs", "The registry of runs: list, show, verify, share",
		"The registry holds a row for every run of the lab and of the service that shares the state "+
			"directory.",
		runsListCommand(a), runsShowCommand(a), runsVerifyCommand(a), runsMigrateCommand(a),
		runsPushCommand(a), runsPullCommand(a))
}

func runsListCommand(a *App) *cobra.Command {
	var o struct {
		Slug   string `flag:"slug" usage:"only runs of this strategy" complete:"asked"`
		Family string `flag:"family" usage:"only runs of this family" complete:"families"`
		Kind   string `flag:"kind" usage:"only this kind: run, trial, falsification, service, imported, legacy" values:"run,trial,falsification,service,imported,legacy"`
		Status string `flag:"status" usage:"only this status: running, completed, failed" values:"running,completed,failed"`
	}
	c := &cobra.Command{
		Use:   "list",
		Short: "List every run, oldest first",
		Long: "List shows one line per run of the registry: those of the lab and those of the service. " +
			"Numbers are of\nthe stitched walk-forward, or of the whole run where there is none. TRIAL " +
			"counts what has been tried on\nthe days of a run, whatever the strategy and the command.",
		Example: Examples(
			"lab runs list",
			"lab runs list --slug sma_cross --status completed --json",
		),
	}
	a.Bind(c, &o)
	return a.Action(c, func(ctx context.Context, _ []string) (Outcome, error) {
		return runsList(ctx, a,
			registry.Filter{Slug: o.Slug, FamilyID: o.Family, Kind: o.Kind, Status: o.Status})
	})
}

// runRow is a run as it is listed.
type runRow struct {
	RunID       string           `json:"run_id"`
	RequestHash string           `json:"request_hash"`
	Slug        string           `json:"slug"`
	FamilyID    string           `json:"family_id"`
	Kind        string           `json:"kind"`
	Status      string           `json:"status"`
	CompletedAt *string          `json:"completed_at"`
	Params      json.RawMessage  `json:"params"`
	Summary     artifact.Summary `json:"summary"`
	// Trials is which trial the run was, null for one that is none.
	Trials *registry.Place `json:"trials"`
}

func rowOf(r registry.Run, book *selection.Book) runRow {
	row := runRow{Trials: book.Place(r.RunID), RunID: r.RunID, RequestHash: r.RequestHash, Slug: r.Slug,
		FamilyID: r.FamilyID, Kind: r.Kind, Status: r.Status, Params: json.RawMessage("{}")}
	if r.CompletedAt != "" {
		row.CompletedAt = &r.CompletedAt
	}
	if m, err := artifact.DecodeMetadata(r.Payload); err == nil { // a legacy payload may be anything
		row.Summary = m.Summary
		var compact bytes.Buffer
		if json.Compact(&compact, m.Params) == nil {
			row.Params = compact.Bytes()
		}
	}
	return row
}

func runsList(ctx context.Context, a *App, f registry.Filter) (Outcome, error) {
	rows := []runRow{}
	err := withRegistry(ctx, a, func(store *artifact.Store, reg *registry.Registry) error {
		runs, err := reg.ListMetadata(ctx, f)
		if err != nil {
			return err
		}
		book, err := selection.ReadBook(ctx, reg, store)
		if err != nil {
			return err
		}
		for _, r := range runs {
			rows = append(rows, rowOf(r, book))
		}
		return nil
	})
	return Outcome{Result: map[string]any{"runs": rows}, Print: func(w io.Writer) { printRows(w, rows) }}, err
}

func printRows(w io.Writer, rows []runRow) {
	cells := [][]string{{"RUN", "STRATEGY", "KIND", "STATUS", "COMPLETED", "RETURN", "SHARPE", "TRIAL",
		"MAX DRAWDOWN", "TRADES", "PARAMETERS"}}
	for _, r := range rows {
		completed := ""
		if r.CompletedAt != nil {
			completed = *r.CompletedAt
		}
		s := r.Summary
		if r.Status == artifact.StatusFailed { // what it came to until then counts for nothing
			s = artifact.Summary{}
		}
		cells = append(cells, []string{
			r.RunID, r.Slug, r.Kind, r.Status, completed, cell(s.TotalReturn, "%+.2f %%", 100),
			cell(s.SharpeRatio, "%.2f", 1), trialCell(r.Trials),
			cell(s.MaxDrawdown, "%.2f %%", 100), cell(s.TotalTrades, "%.0f", 1), string(r.Params),
		})
	}
	Table(w, cells)
}

// trialCell is which trial a run was, nothing for one that is none.
func trialCell(p *registry.Place) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d", p.Position, p.N)
}

// cell is a number as text; n/a if it is undefined.
func cell(x *float64, format string, factor float64) string {
	if x == nil {
		return "n/a"
	}
	return fmt.Sprintf(format, factor**x)
}

func runsShowCommand(a *App) *cobra.Command {
	c := &cobra.Command{
		Use:     "show <run>",
		Short:   "Show one run: splits, stress, hashes",
		Long:    "Show prints the report of a run. Metrics of a locked split are not shown.",
		Example: Examples("lab runs show run_6rvs7gxczpvrxcpd", "lab runs show run_6rvs7gxczpvrxcpd --json"),
	}
	a.Arguments(c, a.Runs)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		return runsShow(ctx, a, args[0])
	})
}

func runsShow(ctx context.Context, a *App, id string) (Outcome, error) {
	var out Outcome
	err := withRegistry(ctx, a, func(store *artifact.Store, reg *registry.Registry) error {
		row, err := reg.Get(ctx, id)
		if errors.Is(err, registry.ErrNotFound) {
			return runNotFound(id)
		}
		if err != nil {
			return err
		}
		payload := json.RawMessage(row.Payload)
		book, err := selection.ReadBook(ctx, reg, store)
		if err != nil {
			return err
		}
		shown := rowOf(row, book)
		result := map[string]any{"run": shown, "metadata": payload, "report": nil}
		out.Result = result
		out.Print = func(w io.Writer) { printRows(w, []runRow{shown}) }
		metadata, failed := artifact.DecodeMetadata(row.Payload)
		report, err := artifact.ReadReport(store.Dir(id))
		if err != nil {
			if failed == nil && metadata.NoFolder() != nil && !store.Has(id) {
				out.Warnings = append(out.Warnings,
					Warning{Code: request.CodeRunCompact, Message: metadata.NoFolder().Error()})
			}
			return nil // a running, failed or legacy run may have no files
		}
		if failed != nil {
			return failed
		}
		result["report"] = report
		out.Print = func(w io.Writer) {
			answer := &request.Result{RunID: id, RequestHash: row.RequestHash, Metadata: metadata,
				Report: report}
			printRun(w, answer, nil, shown.Trials)
			Table(w, [][]string{{"request", row.RequestHash}, {"decisions", report.DecisionHash},
				{"result", report.ResultHash}, {"plugin", metadata.Plugin.SHA256},
				{"engine", metadata.Engine.SHA256}})
		}
		return nil
	})
	return out, err
}

func runNotFound(id string) *Error {
	return request.Errorf(request.CodeRunNotFound, "there is no run %q: lab runs list shows what there is",
		id).
		With("flag", "run", "run_id", id)
}

// withRegistry opens the registry alone.
func withRegistry(ctx context.Context, a *App,
	use func(*artifact.Store, *registry.Registry) error) (err error) {
	store := artifact.NewStore(a.RunsDir())
	reg, err := registry.OpenAt(ctx, a.Database, store, a.Logger.Named("registry"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reg.Close()) }()
	for _, w := range reg.Warnings() {
		a.Note(Warning(w))
	}
	return use(store, reg)
}

func runsVerifyCommand(a *App) *cobra.Command {
	var o struct {
		Rerun bool `flag:"rerun" usage:"execute again and compare the result hash"`
	}
	c := &cobra.Command{
		Use:   "verify [run...]",
		Short: "Hash the artifacts of runs again",
		Long: "Verify hashes every file of the runs and compares it with what was stored; without an " +
			"argument, of all\n" +
			"runs that have ended, failed ones too. With --rerun it also executes those that were " +
			"completed, from\n" +
			"exactly the plugin and the candles that they name, and compares the result hashes. It goes " +
			"on after a\n" +
			"run that cannot be executed. Paper and live runs and failed ones are only hashed.",
		Example: Examples(
			"lab runs verify",
			"lab runs verify run_6rvs7gxczpvrxcpd --rerun",
		),
	}
	a.Arguments(c, a.Runs)
	a.Bind(c, &o)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		return runsVerify(ctx, a, args, o.Rerun)
	})
}

// verified is what the check of one run has found.
type verified struct {
	RunID  string `json:"run_id"`
	Kind   string `json:"kind"`
	Status string `json:"status"`
	// OK reports that every file is what was stored; Files counts them, metadata.json included.
	OK       bool     `json:"ok"`
	Files    int      `json:"files"`
	Problems []string `json:"problems"`
	// Elsewhere reports that the run was made in another state directory that shares the registry.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Kept reports that the run is a trial without a folder, whose result its search has.
	Kept bool `json:"kept,omitempty"`
	// Reproduced is null unless the run was executed again to its end.
	Reproduced *bool `json:"reproduced"`
	// Rerun reports why it was not, null if it was or was not asked for.
	Rerun *withheld `json:"rerun"`

	mode   string // paper or live, else empty
	repeat string // of a falsification, the command that makes it again
}

// withheld is why a run was not executed again: a code of the table of exits, or
// SKIPPED where a run of its kind never is.
type withheld struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

const skipped = request.CodeSkipped

const filesElsewhere = "its files are in the state directory where it was made"

func runsVerify(ctx context.Context, a *App, ids []string, rerun bool) (Outcome, error) {
	list := []verified{}
	err := withRegistry(ctx, a, func(store *artifact.Store, reg *registry.Registry) error {
		rows, err := rowsToVerify(ctx, reg, ids)
		if err != nil {
			return err
		}
		bar := a.Progress("verify").Count("runs", 0)
		defer bar.End()
		keptFiles := selection.NewKeptFiles(store)
		for i, row := range rows {
			if err := ctx.Err(); err != nil {
				return err
			}
			list = append(list, verifyRun(store, keptFiles, row, reg.Shared()))
			bar.Update(int64(i+1), int64(len(rows)))
		}
		return nil
	})
	if err == nil && rerun {
		err = rerunStored(ctx, a, list)
	}
	named := rerun && len(ids) > 0
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Result: map[string]any{"runs": list}, Print: func(w io.Writer) {
		printVerified(w, list)
	}}, verdict(list, named)
}

// rowsToVerify are the rows of runs that were named, before anything is done for any of
// them; else of all that have ended and should have files, which legacy ones do not.
func rowsToVerify(ctx context.Context, reg *registry.Registry, ids []string) ([]registry.Run, error) {
	var rows []registry.Run
	for _, id := range ids {
		row, err := reg.Get(ctx, id)
		if errors.Is(err, registry.ErrNotFound) {
			return nil, runNotFound(id)
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	if len(ids) > 0 {
		return rows, nil
	}
	all, err := reg.ListMetadata(ctx, registry.Filter{})
	for _, r := range all {
		if r.Kind != registry.KindLegacy && r.Status != artifact.StatusRunning {
			rows = append(rows, r)
		}
	}
	return rows, err
}

// verifyRun hashes the files of a run, or finds what its search keeps of it in their place. Where the
// registry is shared, the row is that of whoever made the run last, at another time and perhaps on another
// machine.
func verifyRun(store *artifact.Store, kept *selection.KeptFiles, row registry.Run, shared bool) verified {
	v := verified{RunID: row.RunID, Kind: row.Kind, Status: row.Status, Problems: []string{}}
	m, payload, err := artifact.Verify(store.Dir(row.RunID))
	var changed *artifact.MismatchError
	switch {
	case errors.As(err, &changed):
		v.Problems = changed.Problems
	case errors.Is(err, fs.ErrNotExist) && !keepsFiles(row):
		v.OK = true // there is nothing that could have changed
	case errors.Is(err, fs.ErrNotExist) && isKept(kept, row):
		v.OK, v.Kept = true, true
	case errors.Is(err, fs.ErrNotExist) && shared:
		v.OK, v.Elsewhere = true, true
	case errors.Is(err, fs.ErrNotExist):
		v.Problems = []string{"metadata.json is missing"}
	case err != nil:
		v.Problems = []string{err.Error()}
	case string(payload) != string(row.Payload) && !(shared && registry.SameResult(row.Payload, m)):
		v.Problems = []string{"metadata.json differs from the registry's row"}
	default:
		v.OK, v.Files = true, len(m.Artifacts)+1
	}
	if m != nil && m.Service != nil && m.Service.Mode != runner.ModeBacktest {
		v.mode = m.Service.Mode
	}
	if row.Kind == artifact.KindFalsification {
		v.repeat = repeatOf(store.Dir(row.RunID), row.Slug)
	}
	return v
}

// isKept reports whether a search has the result of a trial that has no folder.
func isKept(kept *selection.KeptFiles, row registry.Run) bool {
	m, err := artifact.DecodeMetadata(row.Payload)
	if err != nil {
		return false
	}
	k, err := kept.Find(m)
	return err == nil && k != nil
}

// repeatOf is the command that makes a falsification again, with the profile that is in
// its folder. A base that its files do not name is left to the reader.
func repeatOf(dir, slug string) string {
	base := "RUN"
	if s, err := falsify.ReadSummary(dir); err == nil && s.BaseRunID != "" {
		base = s.BaseRunID
	}
	return fmt.Sprintf("lab falsify %s --run %s --profile runs/%s/falsify/profile.json --force", slug, base,
		filepath.Base(dir))
}

// keepsFiles reports whether a run has a folder by its row: one that is running,
// was never finished or is from before the registry has none.
func keepsFiles(row registry.Run) bool {
	if row.Status == artifact.StatusCompleted {
		return row.Kind != registry.KindLegacy
	}
	m, err := artifact.DecodeMetadata(row.Payload)
	return err == nil && len(m.Artifacts) > 0
}

// verdict is the worst that was found: changed files before other results, other results
// before what could not be tried. Of runs that were named to be executed again, at least
// one must have been.
func verdict(list []verified, named bool) error {
	var changed, differ, withheld, reproduced int
	for _, v := range list {
		switch {
		case !v.OK:
			changed++
		case v.Reproduced != nil && !*v.Reproduced:
			differ++
		case v.Reproduced != nil:
			reproduced++
		case v.Rerun != nil && v.Rerun.Code != skipped:
			withheld++
		}
	}
	fail := func(code, format string, n int) error {
		return request.Errorf(code, format, n, len(list)).With("runs", list)
	}
	switch {
	case changed > 0:
		return fail(request.CodeArtifactMismatch, "the files of %d of %d runs are not what was stored",
			changed)
	case differ > 0:
		return fail(request.CodeNotReproduced, "%d of %d runs came to another result", differ)
	case withheld > 0:
		return fail(request.CodeInputsMissing, "%d of %d runs could not be executed again", withheld)
	case named && reproduced == 0:
		return fail(request.CodeInconclusive,
			"none of the runs is of a kind that is executed again: %d of %d were only hashed", len(list))
	}
	return nil
}

// rerunStored executes the runs whose files are sound and that have a result to reach, and
// notes of each how it went; what cannot be tried does not keep the others from it.
func rerunStored(ctx context.Context, a *App, list []verified) error {
	return a.WithHost(ctx, func(h *request.Host) error {
		bar := a.Progress("rerun").Count("runs", 0)
		defer bar.End()
		failed := 0
		for i := range list {
			v := &list[i]
			if v.Rerun = notRerun(v); v.Rerun == nil {
				same, why, err := rerunOne(ctx, h, v.RunID)
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err != nil {
					known := Classify(err)
					v.Rerun = &withheld{known.Code, known.Message}
				} else if v.Reproduced = &same; !same {
					v.Problems = append(v.Problems, why)
					failed++
				}
			}
			bar.Show(State{Done: int64(i + 1), Total: int64(len(list)), Failed: failed})
		}
		return nil
	})
}

// notRerun is why a run is not even tried; nil if it is.
func notRerun(v *verified) *withheld {
	switch {
	case !v.OK:
		return &withheld{request.CodeArtifactMismatch, "its files have changed"}
	case v.Elsewhere:
		return &withheld{skipped, filesElsewhere}
	case v.Kept:
		return &withheld{skipped, "it has no folder: lab run --trial plays it again"}
	case v.Kind == registry.KindLegacy:
		return &withheld{skipped, "a legacy run has no request"}
	case v.Status != artifact.StatusCompleted:
		return &withheld{skipped, "it is " + v.Status + " and has no result to reach"}
	case v.mode != "":
		return &withheld{skipped, v.mode + " runs depend on the venue"}
	case v.Kind == artifact.KindImported:
		return &withheld{skipped, "it is the result of another engine"}
	case v.Kind == artifact.KindFalsification:
		return &withheld{skipped, "lab falsify repeats it: " + v.repeat}
	}
	return nil
}

// rerunOne executes one run from its request and reports whether it reaches its result,
// and if not, why.
func rerunOne(ctx context.Context, h *request.Host, id string) (same bool, why string, err error) {
	stored, err := h.Stored(id)
	if err != nil {
		return false, "", err
	}
	p, err := h.Repeat(ctx, stored.Request, request.Overrides{
		Slug: stored.Metadata.Slug, Splits: stored.Splits,
	})
	if err != nil {
		return false, "", err
	}
	defer p.Close()
	answer, err := h.Run(ctx, p, request.Options{NoReuse: true})
	switch {
	case err != nil:
		return false, "", err
	case answer.Failure != nil:
		return false,
			fmt.Sprintf("split %s failed: %s: %s", answer.Failure.SplitID, answer.Failure.Code,
				answer.Failure.Message), nil
	case answer.Report.ResultHash != stored.Report.ResultHash:
		return false,
			fmt.Sprintf("result %s, stored %s", Short(answer.Report.ResultHash),
				Short(stored.Report.ResultHash)), nil
	}
	return true, "", nil
}

func printVerified(w io.Writer, list []verified) {
	rows := [][]string{{"RUN", "KIND", "STATUS", "STATE", "FILES", "WHAT IS WRONG"}}
	for _, v := range list {
		rows = append(rows,
			[]string{v.RunID, v.Kind, v.Status, stateOf(v), fmt.Sprint(v.Files), wrongWith(v)})
	}
	Table(w, rows)
}

func stateOf(v verified) string {
	switch {
	case !v.OK:
		return "changed"
	case v.Reproduced != nil && *v.Reproduced:
		return "ok, reproduced"
	case v.Reproduced != nil:
		return "ok, not reproduced"
	case v.Elsewhere:
		return "elsewhere"
	case v.Kept && v.Rerun == nil:
		return "ok, no folder"
	case v.Rerun != nil:
		return "ok, not rerun"
	}
	return "ok"
}

// wrongWith is the first problem of a run and how many more there are, or why it was
// not executed again.
func wrongWith(v verified) string {
	text := ""
	switch n := len(v.Problems); {
	case n == 1:
		text = v.Problems[0]
	case n > 1:
		text = fmt.Sprintf("%s, and %d more", v.Problems[0], n-1)
	case v.Elsewhere:
		text = filesElsewhere
	case v.Rerun != nil && v.Rerun.Code == skipped:
		text = v.Rerun.Message
	case v.Rerun != nil:
		text = v.Rerun.Code + ": " + v.Rerun.Message
	}
	return strings.Join(strings.Fields(text), " ")
}
