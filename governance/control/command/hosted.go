package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/evidence"
	"github.com/assay-run/assay/host/base/digest"
)

type hostedOptions struct {
	signing
	Run      string `flag:"run" usage:"a paper, canary or live run of the bundle that this service made"`
	StateDir string `flag:"run-state-dir" default:".assay" usage:"state directory of the service that made the run: its files are read there"`
}

func hostedCommand(w World) *cobra.Command {
	o := &hostedOptions{signing: signing{w: w, Valid: validStop}}
	cmd := &cobra.Command{
		Use: "hosted CR", Short: "Sign, as the host, that a paper or live run took place",
		Args: cobra.ExactArgs(1),
		Long: "Compares the files of the run in the service's state directory with those that the bundle " +
			"names, and signs them with a key whose role is host. A run that no host has signed passes no " +
			"gate.",
		Example: "  governance hosted cr-... --run svc_01 --run-state-dir /var/lib/assay --key host.key",
		RunE:    func(cmd *cobra.Command, args []string) error { return o.sign(cmd, args[0]) },
	}
	o.set = bind(cmd, w, o)
	return cmd
}

func (o *hostedOptions) sign(cmd *cobra.Command, id string) error {
	if o.Run == "" {
		return usagef("--run is missing: a paper, canary or live run of the bundle")
	}
	c, key, err := o.open(id)
	if err != nil {
		return err
	}
	sub, err := c.subject(cmd.Context(), id)
	if err != nil {
		return err
	}
	runs := sub.doc.Bundle.Runs
	i := slices.IndexFunc(runs, func(r bundle.Run) bool { return r.RunID == o.Run })
	if i < 0 || !runs[i].Role.Venue() {
		return refusef("RUN_NOT_FOUND: %s is no paper, canary or live run of the bundle: pack it again with "+
			"the run (lab candidate pack)", o.Run)
	}
	hosted := bundle.HostedRun{RunID: o.Run, ReportSHA256: runs[i].ReportSHA256,
		MetadataSHA256: runs[i].MetadataSHA256}
	for _, f := range []struct{ name, sha256 string }{
		{evidence.ReportName, hosted.ReportSHA256}, {evidence.MetadataName, hosted.MetadataSHA256},
	} {
		path := filepath.Join(o.StateDir, "runs", o.Run, f.name)
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return refusef("RUN_NOT_FOUND: there is no %s: name the state directory of the service that "+
				"made the run with --run-state-dir", path)
		}
		if err != nil {
			return usagef("--run-state-dir: %v", err)
		}
		if digest.SHA256Hex(text) != f.sha256 {
			return refusef("ARTIFACT_HASH_MISMATCH: %s is not the file that the bundle names: it was "+
				"changed, or the run is of another service", path)
		}
	}
	hosted.Common = o.common(sub)
	if err := o.confirm("Sign that this service made " + o.Run + "?"); err != nil {
		return err
	}
	return o.post(cmd.Context(), c, sub, bundle.TypeRun, hosted, key)
}
