package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/bucket"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/share"
)

// codeBucketUnreachable is of a bucket that does not take or give a file.
const codeBucketUnreachable = "BUCKET_UNREACHABLE"

// bucketOption names the bucket of a team.
type bucketOption struct {
	Artifacts string `flag:"artifacts" usage:"s3://BUCKET or s3://BUCKET/PREFIX (SERVICE_ARTIFACTS), where a team keeps the files of runs; store and keys by the variables of the AWS tools"`
}

// place is the address, "" where none is named.
func (o *bucketOption) place(a *App) string {
	return FirstOf(o.Artifacts, a.IO.Getenv(bucket.Variable))
}

// copier opens the bucket.
func (o *bucketOption) copier(a *App, store *artifact.Store) (*share.Copier, error) {
	place := o.place(a)
	if place == "" {
		return nil, Usage("--artifacts", "--artifacts: name the bucket, as s3://BUCKET/PREFIX (or set %s)",
			bucket.Variable)
	}
	b, err := bucket.Open(place, a.IO.Getenv)
	if err != nil {
		return nil, Usage("--artifacts", "--artifacts: %v", err)
	}
	return &share.Copier{Bucket: b, StateDir: a.StateDir, Store: store}, nil
}

func runsPushCommand(a *App) *cobra.Command {
	var o bucketOption
	c := &cobra.Command{
		Use:   "push [run...]",
		Short: "Copy runs into the bucket of a team",
		Long: "Push copies the files of completed runs, and the programs that decided them, into a bucket " +
			"of an\nS3-compatible store; without an argument, of all that have files here. A run that is " +
			"there stays as it is.\nA strategy in Python is copied with its libraries, each once.",
		Example: Examples(
			"lab runs push --artifacts s3://evidence/assay",
			"lab runs push run_6rvs7gxczpvrxcpd",
		),
	}
	a.Arguments(c, a.Runs)
	a.Bind(c, &o)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		return runsCopy(ctx, a, &o, args, (*share.Copier).Push)
	})
}

func runsPullCommand(a *App) *cobra.Command {
	var o bucketOption
	c := &cobra.Command{
		Use:   "pull <run...>",
		Short: "Copy runs out of the bucket of a team",
		Long: "Pull copies the files of runs that somebody pushed, and their programs, to their places " +
			"here. The registry\nmust know the runs, as one that a team shares does; every file is hashed " +
			"against it.",
		Example: Examples("lab runs pull run_6rvs7gxczpvrxcpd --artifacts s3://evidence/assay"),
	}
	a.Arguments(c, a.Runs)
	a.Bind(c, &o)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		return runsCopy(ctx, a, &o, args, (*share.Copier).Pull)
	})
}

// runsCopy copies the completed runs of these ids, else all that have files here.
func runsCopy(ctx context.Context, a *App, o *bucketOption, ids []string,
	copyRun func(*share.Copier, context.Context, []byte) (share.Copied, error)) (Outcome, error) {
	list := []share.Copied{}
	err := withRegistry(ctx, a, func(store *artifact.Store, reg *registry.Registry) error {
		c, err := o.copier(a, store)
		if err != nil {
			return err
		}
		rows, err := rowsToVerify(ctx, reg, ids)
		if err != nil {
			return err
		}
		bar := a.Progress("copy").Count("runs", 0)
		defer bar.End()
		for i, row := range rows {
			if row.Status != artifact.StatusCompleted && len(ids) > 0 {
				return Usage("run", "%s is %s: only completed runs are copied", row.RunID, row.Status)
			}
			if len(ids) == 0 && (row.Status != artifact.StatusCompleted || !store.Has(row.RunID)) {
				continue
			}
			done, err := copyRun(c, ctx, row.Payload)
			if err != nil {
				return copyError(row.RunID, err)
			}
			list = append(list, done)
			bar.Update(int64(i+1), int64(len(rows)))
		}
		return nil
	})
	return Outcome{Result: map[string]any{"runs": list},
		Print: func(w io.Writer) { printCopied(w, list) }}, err
}

func printCopied(w io.Writer, list []share.Copied) {
	cells := [][]string{{"RUN", "FILES COPIED", "BYTES"}}
	for _, c := range list {
		cells = append(cells, []string{c.RunID, fmt.Sprint(c.Files), fmt.Sprint(c.Bytes)})
	}
	Table(w, cells)
}

// copyError gives what went wrong with a copy its code.
func copyError(runID string, err error) error {
	var other *artifact.MismatchError
	code := codeBucketUnreachable
	switch {
	case errors.As(err, &other):
		return err
	case errors.Is(err, fs.ErrNotExist):
		code = request.CodeInputsMissing
		err = fmt.Errorf("%w: lab runs push, where the run was made, copies it into the bucket", err)
	}
	return request.Errorf(code, "%s: %v", runID, err).With("run_id", runID)
}

// pushListed copies what a bundle lists into the bucket, where one is named: a control plane elsewhere reads
// the artifacts there.
func (o *bucketOption) pushListed(ctx context.Context, a *App, h *request.Host, b *bundle.Bundle) error {
	if o.place(a) == "" {
		return nil
	}
	c, err := o.copier(a, h.Artifacts)
	if err != nil {
		return err
	}
	for _, run := range b.Runs {
		row, err := h.Registry.Get(ctx, run.RunID)
		if err != nil {
			return err
		}
		if _, err := c.Push(ctx, row.Payload); err != nil {
			return copyError(run.RunID, err)
		}
	}
	return nil
}
