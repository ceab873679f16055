package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/ledger/verify"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/base/flags"
	"github.com/assay-run/assay/host/base/translog"
)

type verifyOptions struct {
	stateOption
	jsonOption
	Key       string   `flag:"key" usage:"governance.pub: the plane's statement key"`
	Root      string   `flag:"trusted-root" usage:"trusted_root.json: the log's key"`
	Trust     string   `flag:"trust" usage:"trust.json: whose attestations count"`
	Artifacts string   `flag:"artifact-root" usage:"folder that holds runs/"`
	Log       bool     `flag:"log" usage:"check a whole log instead of files"`
	Since     []string `flag:"since" usage:"checkpoint that was kept earlier and that the log must continue, repeatable: what /checkpoint answered, or control/log/checkpoint.json of a host"`
	Witnesses []string `flag:"witness-key" usage:"verifier key of a witness that must have cosigned the seals' checkpoints, repeatable"`
	Quorum    int      `flag:"witness-quorum" usage:"how many of the witnesses must have cosigned (default all)"`

	w   World
	set *flags.Set
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
	opts := verify.Options{ArtifactRoot: o.Artifacts}
	var err error
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
		return o.verifyLog(cmd.Context(), o.dir(o.set), opts)
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
func (o *verifyOptions) verifyLog(ctx context.Context, dir string, trusted verify.Options) (err error) {
	audit, err := store.OpenAudit(ctx, dir)
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
		jsonOption
		Check  bool `flag:"check" usage:"change nothing; exit 1 on a difference"`
		Accept bool `flag:"accept-checkpoints" usage:"make a lost checkpoints.log anew from the log as it is"`
	}
	var set *flags.Set
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
			dir := o.dir(set)
			if o.Check && o.Accept {
				return usagef("--check changes nothing: it goes without --accept-checkpoints")
			}
			if o.Accept {
				size, err := store.AcceptCheckpoints(cmd.Context(), dir)
				if err != nil {
					return err
				}
				fmt.Fprintf(w.Err, "checkpoints.log begins anew at %d entries\n", size)
			}
			different, err := store.Rebuild(cmd.Context(), dir, o.Check)
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

func keysCommand(w World) *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Make keys, show this plane's, say whose count",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(keysNew(w), keysShow(w), keysTrust(w))
	return cmd
}

func keysNew(w World) *cobra.Command {
	var o jsonOption
	cmd := &cobra.Command{
		Use: "new NAME", Short: "Make a P-256 pair: NAME.key, for its owner only, and NAME.pub",
		Args: cobra.ExactArgs(1),
		Long: "Makes a P-256 pair: NAME.key signs and stays with its owner, NAME.pub goes to whoever " +
			"runs the plane.",
		Example: "  governance keys new rita",
		RunE: func(_ *cobra.Command, args []string) error {
			path := strings.TrimSuffix(args[0], ".key") + ".key"
			key, err := dsse.Generate()
			if err != nil {
				return err
			}
			if err := dsse.WriteKey(path, key); errors.Is(err, fs.ErrExist) {
				return refusef("%s is there already: choose another name, no key is ever overwritten", path)
			} else if dir := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) {
				return usagef("there is no folder %s for %s: make it first (mkdir -p %s)", dir,
					filepath.Base(path), dir)
			} else if err != nil {
				return err
			}
			id, err := dsse.KeyID(key.Public())
			if err != nil {
				return err
			}
			if o.JSON {
				return printJSON(w.Out,
					map[string]string{"key": path, "pub": dsse.PublicPath(path), "key_id": id})
			}
			fmt.Fprintf(w.Out, "%s\n%s\nkey_id %s\n", path, dsse.PublicPath(path), id)
			return nil
		},
	}
	bind(cmd, w, &o)
	return cmd
}

func keysShow(w World) *cobra.Command {
	var o struct {
		stateOption
		jsonOption
	}
	var set *flags.Set
	cmd := &cobra.Command{
		Use: "show", Short: "Show this plane's public keys", Args: cobra.NoArgs,
		Long: "Shows the name and the public keys of the log in the state folder, also while a plane " +
			"is running on it.",
		Example: "  governance keys show\n  governance keys show --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			id, err := store.ReadIdentity(cmd.Context(), o.dir(set))
			if err != nil {
				return err
			}
			pub, err := dsse.ParseP256([]byte(id.StatementKey))
			if err != nil {
				return err
			}
			keyID, err := dsse.KeyID(pub)
			if err != nil {
				return err
			}
			if o.JSON {
				return printJSON(w.Out,
					map[string]string{"log_origin": id.Origin, "log_key": id.LogKey, "key_id": keyID,
						"public_key": id.StatementKey})
			}
			fmt.Fprintf(w.Out, "log_origin %s\nlog_key %s\nkey_id %s\n%s", id.Origin, id.LogKey, keyID,
				id.StatementKey)
			return nil
		},
	}
	set = bind(cmd, w, &o)
	return cmd
}

type trustOptions struct {
	stateOption
	jsonOption
	Pub       string   `flag:"pub" usage:"file of the public key"`
	Principal string   `flag:"principal" usage:"the person or program that holds it"`
	Roles     []string `flag:"role" split:"," usage:"lab, replay, risk, approver, operator, host or shadow, repeatable" complete:"lab,replay,risk,approver,operator,host,shadow"`
	Valid     string   `flag:"valid" default:"365d" usage:"how long the key counts"`
	Revoke    bool     `flag:"revoke" usage:"let the key count no more"`
	Require   string   `flag:"require-signature" usage:"true or false: must bundles be signed? Needs no --pub" values:"true,false"`
	Expires   string   `flag:"expires" usage:"how long trust.json as a whole counts from now, such as 365d; needs no --pub"`
	File      string   `flag:"file" usage:"the file to edit (default trust.json in the state folder)"`
	Restore   bool     `flag:"restore" usage:"write the newest trust.json of the log, where the file is lost"`
}

func keysTrust(w World) *cobra.Command {
	o := &trustOptions{}
	var set *flags.Set
	cmd := &cobra.Command{
		Use: "trust", Short: "Enter a key in trust.json, with a higher version; send the plane a SIGHUP then",
		Args: cobra.NoArgs,
		Long: "Enters a key in trust.json, or changes or revokes the one that is there, and raises the " +
			"version.\n" +
			"A running plane reads the file when it gets a SIGHUP, and refuses one whose version is not " +
			"higher.",
		Example: "  governance keys trust --pub rita.pub --principal rita@example.com --role risk\n" +
			"  governance keys trust --pub host.pub --principal host-1 --role host --valid 90d\n" +
			"  governance keys trust --pub rita.pub --revoke\n  governance keys trust --require-signature " +
			"true --expires 365d\n" +
			"  governance keys trust --restore",
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir := o.dir(set)
			if o.File == "" {
				o.File = filepath.Join(dir, "trust.json")
			}
			if o.Restore {
				return o.putBack(cmd.Context(), dir, w)
			}
			return o.run(w)
		},
	}
	set = bind(cmd, w, o)
	return cmd
}

// putBack writes the trust.json that the log has. It is in force already: nothing changes
// but that a plane starts again.
func (o *trustOptions) putBack(ctx context.Context, dir string, w World) error {
	if o.Pub != "" || o.Principal != "" || len(o.Roles) > 0 || o.Revoke || o.Require != "" ||
		o.Expires != "" {
		return usagef("--restore takes no key: put the file back first, then change it")
	}
	if _, err := os.Lstat(o.File); err == nil {
		return refusef("%s is there: move it away first", o.File)
	}
	text, err := store.LastTrust(ctx, dir)
	if err != nil {
		return err
	}
	if text == nil {
		return refusef("the log in %s never had a trust.json", dir)
	}
	t, refused := bundle.ParseTrust(text)
	if refused != nil {
		return refusef("the trust.json of the log: %v", refused)
	}
	return o.write(t, w)
}

func (o *trustOptions) run(w World) error {
	valid, err := parseValid(o.Valid)
	if err != nil {
		return usagef("--valid: %v", err)
	}
	if o.Pub == "" && o.Principal == "" && len(o.Roles) == 0 && !o.Revoke &&
		(o.Require != "" || o.Expires != "") {
		return o.settings(w, valid)
	}
	if o.Pub == "" || !o.Revoke && (o.Principal == "" || len(o.Roles) == 0) {
		return usagef(
			"--pub, --principal and --role are needed, or --pub and --revoke, or --require-signature, " +
				"--expires, or --restore")
	}
	pub, err := dsse.ReadPublic(o.Pub)
	if err != nil {
		return usagef("--pub: %v", err)
	}
	pem, err := dsse.PublicPEM(pub)
	if err != nil {
		return err
	}
	id, err := dsse.KeyID(pub)
	if err != nil {
		return err
	}
	now := w.Now().UTC()
	t, err := o.read(now, valid)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(t.Keys, func(k bundle.TrustKey) bool { return k.KeyID == id }); o.Revoke {
		if i < 0 {
			return refusef("the key is not in %s", o.File)
		}
		t.Keys[i].Status = bundle.KeyRevoked
	} else {
		k := bundle.TrustKey{
			KeyID: id, PublicKey: string(pem), Principal: o.Principal, Roles: o.Roles,
			Status:     bundle.KeyActive,
			ValidFrom:  bundle.FormatTime(now.Add(-bundle.MaxAhead)),
			ValidUntil: bundle.FormatTime(now.Add(valid)),
		}
		if i >= 0 {
			t.Keys[i] = k
		} else {
			t.Keys = append(t.Keys, k)
		}
	}
	return o.write(t, w)
}

// settings changes what is of no one key. There must be a file: one without keys would end
// open mode without a key that counts.
func (o *trustOptions) settings(w World, valid time.Duration) error {
	if _, err := os.Stat(o.File); errors.Is(err, fs.ErrNotExist) {
		return usagef("there is no %s: enter a key first, by --pub, --principal and --role", o.File)
	}
	t, err := o.read(w.Now().UTC(), valid)
	if err != nil {
		return err
	}
	return o.write(t, w)
}

// read is trust.json as it is, or a new one; its version goes up.
func (o *trustOptions) read(now time.Time, valid time.Duration) (*bundle.Trust, error) {
	t := &bundle.Trust{Schema: bundle.SchemaTrust, ExpiresAt: bundle.FormatTime(now.Add(valid)),
		Keys: []bundle.TrustKey{}}
	text, err := os.ReadFile(o.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		var refused *bundle.Error
		if t, refused = bundle.ParseTrust(text); refused != nil {
			return nil, refusef("%s: %v", o.File, refused)
		}
	}
	t.Version++
	if o.Expires != "" {
		left, err := parseValid(o.Expires)
		if err != nil {
			return nil, usagef("--expires: %v", err)
		}
		t.ExpiresAt = bundle.FormatTime(now.Add(left))
	}
	if o.Require != "" {
		t.RequireSignature = o.Require == "true"
	}
	return t, nil
}

// write replaces the file as a whole: a plane must never read half of it.
func (o *trustOptions) write(t *bundle.Trust, w World) error {
	text, err := t.Encode()
	if err != nil {
		return usagef("%v", err)
	}
	if err := os.MkdirAll(filepath.Dir(o.File), 0o700); err != nil {
		return err
	}
	if err := file.Write(o.File, text, 0o600); err != nil {
		return err
	}
	if o.JSON {
		return printJSON(w.Out,
			map[string]any{"file": o.File, "version": t.Version, "keys": len(t.Keys),
				"expires_at": t.ExpiresAt})
	}
	fmt.Fprintf(w.Out, "%s version %d, %d keys, expires %s\n", o.File, t.Version, len(t.Keys), t.ExpiresAt)
	return nil
}
