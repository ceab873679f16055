package command

import (
	"context"
	"crypto"
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
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/cli"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/file"
)

// passphraseOption is the flag of all commands that open private keys.
type passphraseOption struct {
	PassphraseFile string `flag:"passphrase-file" usage:"file with the passphrase of encrypted private keys, its owner's alone [SERVICE_KEY_PASSPHRASE_FILE, or the text in SERVICE_KEY_PASSPHRASE]"`
}

func (o *passphraseOption) unlock(w World) dsse.Unlock {
	return dsse.UnlockFrom(o.PassphraseFile, w.Env)
}

func keysCommand(w World) *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Make keys, show this plane's, say whose count",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(keysNew(w), keysEncrypt(w), keysShow(w), keysTrust(w), keysRotate(w))
	return cmd
}

// newKeyOptions are the flags of governance keys new.
type newKeyOptions struct {
	jsonOption
	passphraseOption
	Encrypt bool   `flag:"encrypt" usage:"encrypt the private key with the passphrase of --passphrase-file"`
	Agent   string `flag:"agent" usage:"make no key, but name one that an SSH agent holds: agent:SHA256:..., as ssh-add -l shows it"`
}

func keysNew(w World) *cobra.Command {
	o := &newKeyOptions{}
	cmd := &cobra.Command{
		Use: "new NAME", Short: "Make a P-256 pair: NAME.key, for its owner only, and NAME.pub",
		Args: cobra.ExactArgs(1),
		Long: "Makes a P-256 pair: NAME.key signs and stays with its owner, NAME.pub goes to whoever " +
			"runs the plane.\nWith --agent an SSH agent signs, and NAME.key only says which of its keys.",
		Example: "  governance keys new rita\n" +
			"  governance keys new rita --encrypt --passphrase-file rita.pass\n" +
			"  governance keys new rita --agent agent:SHA256:...",
		RunE: func(_ *cobra.Command, args []string) error { return o.run(args[0], w) },
	}
	bind(cmd, w, o)
	return cmd
}

func (o *newKeyOptions) run(name string, w World) error {
	path := strings.TrimSuffix(name, ".key") + ".key"
	key, err := o.write(path, w)
	if errors.Is(err, fs.ErrExist) {
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
		return printJSON(w.Out, map[string]string{"key": path, "pub": dsse.PublicPath(path), "key_id": id})
	}
	fmt.Fprintf(w.Out, "%s\n%s\nkey_id %s\n", path, dsse.PublicPath(path), id)
	return nil
}

// write makes the key, or finds it in the agent, and writes its files.
func (o *newKeyOptions) write(path string, w World) (crypto.Signer, error) {
	if o.Agent != "" {
		if o.Encrypt {
			return nil, usagef("--agent and --encrypt: an agent keeps its keys itself")
		}
		key, err := dsse.AgentKey(o.Agent)
		if err != nil {
			return nil, usagef("--agent: %v", err)
		}
		return key, dsse.WriteAgent(path, key)
	}
	key, err := dsse.Generate()
	if err != nil {
		return nil, err
	}
	if !o.Encrypt {
		return key, dsse.WriteKey(path, key)
	}
	passphrase, err := o.unlock(w)(path)
	if err != nil {
		return nil, usagef("--encrypt: %v", err)
	}
	return key, dsse.WriteEncrypted(path, key, passphrase)
}

func keysEncrypt(w World) *cobra.Command {
	var o struct {
		passphraseOption
		Old string `flag:"old-passphrase-file" usage:"file with the present passphrase of an encrypted key"`
	}
	cmd := &cobra.Command{
		Use: "encrypt FILE...", Short: "Encrypt private key files with a passphrase, or change it",
		Args: cobra.MinimumNArgs(1),
		Long: "Replaces each file by PKCS#8 encrypted with PBES2 (PBKDF2 with HMAC-SHA-256, AES-256-CBC),\n" +
			"which openssl pkcs8 reads too. The plane's own are keys/statement.key and keys/log.key of\n" +
			"its folder; serve then needs the passphrase.",
		Example: "  governance keys encrypt keys/rita.key --passphrase-file rita.pass\n" +
			"  governance keys encrypt .assay/governance/keys/*.key --passphrase-file plane.pass",
		RunE: func(_ *cobra.Command, args []string) error {
			for _, path := range args {
				passphrase, err := o.unlock(w)(path)
				if err != nil {
					return usagef("%v", err)
				}
				old := dsse.UnlockFrom(o.Old, func(string) (string, bool) { return "", false })
				if err := dsse.Encrypt(path, passphrase, old); err != nil {
					return refusef("%v", err)
				}
				fmt.Fprintf(w.Out, "%s is encrypted\n", path)
			}
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
	var set *cli.Flags
	cmd := &cobra.Command{
		Use: "show", Short: "Show this plane's public keys", Args: cobra.NoArgs,
		Long: "Shows the name and the public keys of the log in the state folder, also while a plane " +
			"is running on it.",
		Example: "  governance keys show\n  governance keys show --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			id, err := store.ReadIdentity(cmd.Context(), o.place(set))
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
	Revoke    bool     `flag:"revoke" usage:"revoke the key"`
	Require   string   `flag:"require-signature" usage:"true or false: must bundles be signed? Needs no --pub" values:"true,false"`
	Expires   string   `flag:"expires" usage:"how long trust.json as a whole counts from now, such as 365d; needs no --pub"`
	File      string   `flag:"file" usage:"the file to edit (default trust.json in the state folder)"`
	Restore   bool     `flag:"restore" usage:"write the newest trust.json of the log, where the file is lost"`
}

func keysTrust(w World) *cobra.Command {
	o := &trustOptions{}
	var set *cli.Flags
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
			at := o.place(set)
			if o.File == "" {
				o.File = filepath.Join(at.Dir, "trust.json")
			}
			if o.Restore {
				return o.putBack(cmd.Context(), at, w)
			}
			return o.run(w)
		},
	}
	set = bind(cmd, w, o)
	return cmd
}

// putBack writes the trust.json that the log has. It is in force already: nothing changes
// but that a plane starts again.
func (o *trustOptions) putBack(ctx context.Context, at store.Place, w World) error {
	if o.Pub != "" || o.Principal != "" || len(o.Roles) > 0 || o.Revoke || o.Require != "" ||
		o.Expires != "" {
		return usagef("--restore takes no key: put the file back first, then change it")
	}
	if _, err := os.Lstat(o.File); err == nil {
		return refusef("%s is there: move it away first", o.File)
	}
	text, err := store.LastTrust(ctx, at)
	if err != nil {
		return err
	}
	if text == nil {
		return refusef("the log of %s never had a trust.json", at.Dir)
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
