package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/ledger/verify"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/bucket"
	"github.com/assay-run/assay/host/base/cli"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/translog"
)

type verifyOptions struct {
	stateOption
	passphraseOption
	jsonOption
	Key       string   `flag:"key" usage:"governance.pub: the plane's statement key"`
	Root      string   `flag:"trusted-root" usage:"trusted_root.json: the log's key"`
	Trust     string   `flag:"trust" usage:"trust.json: whose attestations count"`
	Artifacts string   `flag:"artifact-root" usage:"what holds runs/: a folder, or s3://BUCKET/PREFIX"`
	Log       bool     `flag:"log" usage:"check a whole log instead of files"`
	Since     []string `flag:"since" usage:"checkpoint that was kept earlier and that the log must continue, repeatable: what /checkpoint answered, or control/log/checkpoint.json of a host"`
	Witnesses []string `flag:"witness-key" usage:"verifier key of a witness that must have cosigned the seals' checkpoints, repeatable"`
	Quorum    int      `flag:"witness-quorum" usage:"how many of the witnesses must have cosigned (default all)"`

	w   World
	set *cli.Flags
}

func verifyCommand(w World) *cobra.Command {
	o := &verifyOptions{w: w}
	cmd := &cobra.Command{
		Use: "verify FILE...", Short: "Check files of a hand-over, or a whole log, without asking anybody",
		Long: "Checks files against each other and against the keys that the options name; nothing in the " +
			"files is trusted.\n" +
			"With --log checks the log of --state-dir, on which no plane may be running.",
		Example: "  governance verify candidate_bundle.json candidate_bundle.sigstore.json --key " +
			"governance.pub --trusted-root trusted_root.json\n" +
			"  governance verify candidate_bundle.json candidate_bundle.dsse.json --trust trust.json " +
			"--artifact-root .assay\n" +
			"  governance verify --log --key governance.pub --trusted-root trusted_root.json",
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.set = bind(cmd, w, o)
	return cmd
}

func (o *verifyOptions) run(cmd *cobra.Command, names []string) error {
	switch {
	case o.Log && len(names) > 0:
		return usagef("--log takes no files")
	case o.Log && (o.Trust != "" || o.Artifacts != ""):
		return usagef(
			"--log takes --key and --trusted-root only: a log has its own trust.json, and no artifacts")
	case !o.Log && len(names) == 0:
		return usagef("name the files to verify, or --log")
	}
	var opts verify.Options
	var err error
	if o.Artifacts != "" {
		root, err := bucket.NewRoot(o.Artifacts, o.w.getenv)
		if err != nil {
			return usagef("--artifact-root: %v", err)
		}
		files, done, err := root.Open(cmd.Context())
		if err != nil {
			return usagef("--artifact-root: %v", err)
		}
		defer done()
		opts.Artifacts = files
	}
	if opts.Witnesses, err = translog.NewQuorum(o.Witnesses, o.Quorum); err != nil {
		return usagef("--witness-key, --witness-quorum: %v", err)
	}
	if o.Log && opts.Witnesses.Need > 0 {
		return usagef("--witness-key is for files: the cosignatures of a log are beside it, see /checkpoint")
	}
	for _, name := range o.Since {
		text, err := readSince(name)
		if err != nil {
			return usagef("--since: %v", err)
		}
		opts.Since = append(opts.Since, verify.File{Name: name, Data: text})
	}
	for _, f := range []struct {
		name string
		into *[]byte
	}{{o.Key, &opts.Key}, {o.Root, &opts.TrustedRoot}, {o.Trust, &opts.Trust}} {
		if f.name == "" {
			continue
		}
		if *f.into, err = os.ReadFile(f.name); err != nil {
			return usagef("%v", err)
		}
	}
	if o.Log {
		return o.verifyLog(cmd.Context(), o.place(o.set), opts)
	}
	var files []verify.File
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return usagef("%v", err)
		}
		files = append(files, verify.File{Name: name, Data: data})
	}
	return o.printReport(verify.Verify(files, opts))
}

// readSince reads a checkpoint: its text, or the file in which a host keeps the last one.
func readSince(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if err != nil || !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return text, err
	}
	v, refused := field.Parse(text)
	if refused != nil {
		return nil, fmt.Errorf("%s: %w", name, refused)
	}
	r := &field.Reader{Lax: true}
	note := r.Object(v, "", nil, nil).Form("free", "checkpoint")
	if r.Failed() {
		return nil, fmt.Errorf("%s: %w", name, r.Err())
	}
	return []byte(note), nil
}

// printReport prints a report; the error reports that something does not hold.
func (o *verifyOptions) printReport(report *verify.Report) error {
	var err error
	if o.JSON {
		err = printJSON(o.w.Out, struct {
			OK bool `json:"ok"`
			*verify.Report
		}{report.OK(), report})
	} else {
		err = report.Write(o.w.Out)
	}
	if err == nil && !report.OK() {
		err = refusef("not everything holds")
	}
	return err
}

// verifyLog checks a log by the keys that the options name. Where they name none it goes by
// those beside the log, and notes it: whoever wrote both would not be found out.
func (o *verifyOptions) verifyLog(ctx context.Context, at store.Place, trusted verify.Options) (err error) {
	audit, err := store.OpenAudit(ctx, at, o.unlock(o.w))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, audit.Close()) }()
	opts := verify.LogOptions{Statement: audit.Statement, Log: audit.Log,
		Projections: func() ([]string, error) {
			return audit.Compare(ctx)
		}, Since: trusted.Since}
	if trusted.Key != nil {
		if opts.Statement, err = ledger.ParseKey(trusted.Key); err != nil {
			return usagef("--key: %v", err)
		}
	}
	if trusted.TrustedRoot != nil {
		logs, err := ledger.ParseTrustedRoot(trusted.TrustedRoot)
		if err != nil {
			return usagef("--trusted-root: %v", err)
		}
		i := slices.IndexFunc(logs, func(l ledger.TrustedLog) bool { return l.Origin == audit.Log.Origin })
		if i < 0 {
			return usagef("--trusted-root: names no log %s", audit.Log.Origin)
		}
		opts.Log = logs[i].LogKey
	}
	report := verify.Log(audit.Entries(ctx), audit.Notes(ctx), opts)
	if trusted.Key == nil || trusted.TrustedRoot == nil {
		report.Skip("that the keys in the state folder are the plane's: give --key and --trusted-root")
	}
	return o.printReport(report)
}

func rebuildCommand(w World) *cobra.Command {
	var o struct {
		stateOption
		passphraseOption
		jsonOption
		Check  bool `flag:"check" usage:"change nothing; exit 1 on a difference"`
		Accept bool `flag:"accept-checkpoints" usage:"make a lost checkpoints.log anew from the log as it is"`
	}
	var set *cli.Flags
	cmd := &cobra.Command{
		Use: "rebuild", Short: "Make what follows from the log again; no plane may be running",
		Args: cobra.NoArgs,
		Long: "Makes facts, revisions and states again from the signed statements, and judges each " +
			"decision once more.\nThe log itself is never changed.\n" +
			"With --accept-checkpoints, where checkpoints.log is lost, makes it anew first: do that only " +
			"when you are sure\nthat the database is the newest copy, since an older one would fork the log.",
		Example: "  governance rebuild --check\n  governance rebuild --state-dir /var/lib/governance\n  " +
			"governance rebuild --accept-checkpoints",
		RunE: func(cmd *cobra.Command, _ []string) error {
			at := o.place(set)
			if o.Check && o.Accept {
				return usagef("--check changes nothing: it goes without --accept-checkpoints")
			}
			if o.Accept {
				size, err := store.AcceptCheckpoints(cmd.Context(), at, o.unlock(w))
				if err != nil {
					return err
				}
				fmt.Fprintf(w.Err, "checkpoints.log begins anew at %d entries\n", size)
			}
			different, err := store.Rebuild(cmd.Context(), at, o.Check, o.unlock(w))
			if err != nil {
				return err
			}
			if o.JSON {
				err = printJSON(w.Out,
					map[string]any{"rebuilt": !o.Check, "different": append([]string{}, different...)})
			} else {
				printRebuilt(w, different, o.Check)
			}
			if err == nil && o.Check && len(different) > 0 {
				err = refusef("the projections differ from the log: governance rebuild makes them again")
			}
			return err
		},
	}
	set = bind(cmd, w, &o)
	return cmd
}

func printRebuilt(w World, different []string, check bool) {
	for _, d := range different {
		fmt.Fprintln(w.Out, d)
	}
	switch {
	case !check:
		fmt.Fprintln(w.Out, "rebuilt")
	case len(different) == 0:
		fmt.Fprintln(w.Out, "the projections are those that the log makes")
	}
}
