package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/cli"
	"github.com/assay-run/assay/lab/evaluate"
)

func (a *app) runsVerifyCommand() *cobra.Command {
	var rerun bool
	c := &cobra.Command{
		Use:   "verify [run...]",
		Short: "Hash the artifacts of runs again",
		Long: "Verify hashes every file of the runs and compares it with what was stored; without an argument, of all\n" +
			"runs that have ended. With --rerun it also executes them, from exactly the plugin and the candles that\n" +
			"they name, and compares the result hashes.",
		Example: cli.Examples(
			"lab runs verify",
			"lab runs verify run_6rvs7gxczpvrxcpd --rerun",
		),
	}
	c.Flags().BoolVar(&rerun, "rerun", false, "execute again and compare the result hash")
	return a.Action(c, func(ctx context.Context, args []string) (cli.Outcome, error) { return a.runsVerify(ctx, args, rerun) })
}

// verified is what the check of one run has found.
type verified struct {
	RunID    string   `json:"run_id"`
	OK       bool     `json:"ok"`
	Files    int      `json:"files"`
	Problems []string `json:"problems"`
	// Reproduced is null unless the run was executed again.
	Reproduced *bool `json:"reproduced"`
}

func (a *app) runsVerify(ctx context.Context, ids []string, rerun bool) (cli.Outcome, error) {
	list, bad := []verified{}, 0
	err := a.withRegistry(ctx, func(store *artifact.Store, reg *registry.Registry) error {
		if len(ids) == 0 {
			var err error
			if ids, err = endedRuns(ctx, reg); err != nil {
				return err
			}
		}
		bar := a.Progress("verify")
		defer bar.End()
		for i, id := range ids {
			if err := ctx.Err(); err != nil {
				return err
			}
			v, err := verifyRun(ctx, store, reg, id)
			if err != nil {
				return err
			}
			if !v.OK {
				bad++
			}
			list = append(list, v)
			bar.Update(int64(i+1), int64(len(ids)))
		}
		return nil
	})
	if err != nil {
		return cli.Outcome{}, err
	}
	out := cli.Outcome{Result: map[string]any{"runs": list}, Print: func(w io.Writer) { printVerified(w, list) }}
	if bad > 0 {
		return out, &cli.Error{
			Code: "ARTIFACT_MISMATCH", Message: fmt.Sprintf("the files of %d of %d runs are not what was stored", bad, len(list)),
			Details: map[string]any{"runs": list},
		}
	}
	if rerun {
		return a.rerun(ctx, list)
	}
	return out, nil
}

// rerun executes runs whose files are sound and compares their results.
func (a *app) rerun(ctx context.Context, list []verified) (cli.Outcome, error) {
	out := cli.Outcome{Result: map[string]any{"runs": list}, Print: func(w io.Writer) { printVerified(w, list) }}
	differ := 0
	err := a.WithHost(ctx, func(h *evaluate.Host) error {
		for i := range list {
			same, err := rerunOne(ctx, h, list[i].RunID)
			if err != nil {
				return err
			}
			if list[i].Reproduced = &same; !same {
				differ++
			}
		}
		return nil
	})
	if err != nil {
		return cli.Outcome{}, err
	}
	if differ > 0 {
		return out, &cli.Error{
			Code: "NOT_REPRODUCED", Message: fmt.Sprintf("%d of %d runs came to another result", differ, len(list)), Details: map[string]any{"runs": list},
		}
	}
	return out, nil
}

func rerunOne(ctx context.Context, h *evaluate.Host, id string) (bool, error) {
	stored, err := h.Stored(id)
	if err != nil {
		return false, err
	}
	scheme, err := evaluate.SchemeOf(stored.Splits)
	if err != nil {
		return false, err
	}
	q, err := h.Again(stored.Request, stored.Metadata.Slug, scheme, "")
	if err != nil {
		return false, err
	}
	p, err := h.Prepare(ctx, q)
	if err != nil {
		return false, err
	}
	defer p.Close()
	answer, err := h.Run(ctx, p, evaluate.Options{NoReuse: true})
	if err != nil {
		return false, err
	}
	return answer.Report.ResultHash == stored.Report.ResultHash, nil
}

// endedRuns are those that should have files: completed ones that are not legacy.
func endedRuns(ctx context.Context, reg *registry.Registry) ([]string, error) {
	runs, err := reg.ListMetadata(ctx, registry.Filter{Status: artifact.StatusCompleted})
	var ids []string
	for _, r := range runs {
		if r.Kind != registry.KindLegacy {
			ids = append(ids, r.RunID)
		}
	}
	return ids, err
}

func verifyRun(ctx context.Context, store *artifact.Store, reg *registry.Registry, id string) (verified, error) {
	v := verified{RunID: id, Problems: []string{}}
	row, err := reg.Get(ctx, id)
	if errors.Is(err, registry.ErrNotFound) {
		return v, runNotFound(id)
	}
	if err != nil {
		return v, err
	}
	m, payload, err := artifact.Verify(store.Dir(id))
	var changed *artifact.MismatchError
	switch {
	case errors.As(err, &changed):
		v.Problems = changed.Problems
	case errors.Is(err, fs.ErrNotExist):
		v.Problems = []string{"metadata.json is missing"}
	case err != nil:
		v.Problems = []string{err.Error()}
	case string(payload) != string(row.Payload):
		v.Problems = []string{"metadata.json differs from the registry's row"}
	default:
		v.OK, v.Files = true, len(m.Artifacts)+1
	}
	return v, nil
}

func printVerified(w io.Writer, list []verified) {
	rows := [][]string{{"RUN", "STATE", "FILES"}}
	for _, v := range list {
		state := "ok"
		if !v.OK {
			state = "changed: " + v.Problems[0]
			if n := len(v.Problems) - 1; n > 0 {
				state += fmt.Sprintf(", and %d more", n)
			}
		}
		if v.Reproduced != nil {
			state = map[bool]string{true: "ok, reproduced", false: "ok, another result"}[*v.Reproduced]
		}
		rows = append(rows, []string{v.RunID, state, fmt.Sprint(v.Files)})
	}
	cli.Table(w, rows)
}
