package command

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/ledger/verify"
	"github.com/assay-run/assay/governance/store"
)

func verifyCommand(w World) *cobra.Command {
	var key, root, trust, artifacts string
	var log bool
	cmd := &cobra.Command{
		Use: "verify FILE...", Short: "Check files of a hand-over, or a whole log, without asking anybody",
		Long: "Checks files against each other and against the keys that the options name; nothing in the files is trusted.\n" +
			"With --log checks the log of --state-dir, on which no plane may be running.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if log {
				if len(args) > 0 {
					return usagef("--log takes no files")
				}
				dir, _ := stateDir.value(cmd, w.Env)
				return verifyLog(cmd.Context(), dir, w)
			}
			if len(args) == 0 {
				return usagef("name the files to verify, or --log")
			}
			return verifyFiles(args, key, root, trust, artifacts, w)
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "governance.pub: the plane's statement key")
	cmd.Flags().StringVar(&root, "trusted-root", "", "trusted_root.json: the log's key")
	cmd.Flags().StringVar(&trust, "trust", "", "trust.json: whose attestations count")
	cmd.Flags().StringVar(&artifacts, "artifact-root", "", "folder that holds runs/")
	cmd.Flags().BoolVar(&log, "log", false, "check a whole log instead of files")
	stateDir.register(cmd)
	return cmd
}

func verifyFiles(names []string, key, root, trust, artifacts string, w World) error {
	opts := verify.Options{ArtifactRoot: artifacts}
	for name, into := range map[string]*[]byte{key: &opts.Key, root: &opts.TrustedRoot, trust: &opts.Trust} {
		if name == "" {
			continue
		}
		var err error
		if *into, err = os.ReadFile(name); err != nil {
			return usagef("%v", err)
		}
	}
	var files []verify.File
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return usagef("%v", err)
		}
		files = append(files, verify.File{Name: name, Data: data})
	}
	report := verify.Verify(files, opts)
	if err := report.Write(w.Out); err != nil {
		return err
	}
	if !report.OK() {
		return refusef("not everything holds")
	}
	return nil
}

func verifyLog(ctx context.Context, dir string, w World) error {
	audit, err := store.OpenAudit(ctx, dir)
	if err != nil {
		return err
	}
	report := verify.Log(audit.Entries(ctx), audit.Notes(ctx), verify.LogOptions{Statement: audit.Statement, Log: audit.Log})
	if err := errors.Join(report.Write(w.Out), audit.Close()); err != nil {
		return err
	}
	different, err := store.Rebuild(ctx, dir, true)
	if err != nil {
		return err
	}
	for _, d := range different {
		fmt.Fprintf(w.Out, "FAIL %s\n", d)
	}
	if !report.OK() || len(different) > 0 {
		return refusef("not everything holds")
	}
	fmt.Fprintln(w.Out, "ok: the projections are those that the log makes")
	return nil
}

func rebuildCommand(w World) *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use: "rebuild", Short: "Make what follows from the log again; no plane may be running", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, _ := stateDir.value(cmd, w.Env)
			different, err := store.Rebuild(cmd.Context(), dir, check)
			if err != nil {
				return err
			}
			for _, d := range different {
				fmt.Fprintln(w.Out, d)
			}
			switch {
			case check && len(different) > 0:
				return refusef("the projections differ from the log")
			case check:
				fmt.Fprintln(w.Out, "the projections are those that the log makes")
			default:
				fmt.Fprintln(w.Out, "rebuilt")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "change nothing; exit 1 on a difference")
	stateDir.register(cmd)
	return cmd
}
