package command

import (
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
	"github.com/assay-run/assay/governance/bundle/dsse"
	"github.com/assay-run/assay/governance/store"
)

func keysCommand(w World) *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Make keys, show this plane's, say whose count"}
	cmd.AddCommand(keysNew(w), keysShow(w), keysTrust(w))
	return cmd
}

func keysNew(w World) *cobra.Command {
	return &cobra.Command{
		Use: "new NAME", Short: "Make a P-256 pair: NAME.key, for its owner only, and NAME.pub", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path := strings.TrimSuffix(args[0], ".key") + ".key"
			key, err := dsse.Generate()
			if err != nil {
				return err
			}
			if err := dsse.WriteKey(path, key); errors.Is(err, fs.ErrExist) {
				return refusef("%s is there already", path)
			} else if err != nil {
				return err
			}
			id, err := dsse.KeyID(key.Public())
			if err != nil {
				return err
			}
			fmt.Fprintf(w.Out, "%s\n%s\nkey_id %s\n", path, dsse.PublicPath(path), id)
			return nil
		},
	}
}

func keysShow(w World) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show", Short: "Show this plane's public keys", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, _ := stateDir.value(cmd, w.Env)
			id, err := store.ReadIdentity(cmd.Context(), dir)
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
			fmt.Fprintf(w.Out, "log_origin %s\nlog_key %s\nkey_id %s\n%s", id.Origin, id.LogKey, keyID, id.StatementKey)
			return nil
		},
	}
	stateDir.register(cmd)
	return cmd
}

type trustOptions struct {
	pub, principal, file, valid string
	roles                       []string
	revoke                      bool
	require                     string
}

func keysTrust(w World) *cobra.Command {
	o := &trustOptions{}
	cmd := &cobra.Command{
		Use: "trust", Short: "Enter a key in trust.json, with a higher version; send the plane a SIGHUP then", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.file == "" {
				dir, _ := stateDir.value(cmd, w.Env)
				o.file = filepath.Join(dir, "trust.json")
			}
			return o.run(w)
		},
	}
	cmd.Flags().StringVar(&o.pub, "pub", "", "file of the public key")
	cmd.Flags().StringVar(&o.principal, "principal", "", "the person or program that holds it")
	cmd.Flags().StringSliceVar(&o.roles, "role", nil, "lab, replay, risk, approver, operator or host, repeatable")
	cmd.Flags().StringVar(&o.valid, "valid", "365d", "how long the key counts")
	cmd.Flags().BoolVar(&o.revoke, "revoke", false, "let the key count no more")
	cmd.Flags().StringVar(&o.require, "require-signature", "", "true or false: must bundles be signed?")
	cmd.Flags().StringVar(&o.file, "file", "", "the file to edit (default trust.json in the state folder)")
	stateDir.register(cmd)
	return cmd
}

func (o *trustOptions) run(w World) error {
	valid, err := parseValid(o.valid)
	if err != nil {
		return usagef("--valid: %v", err)
	}
	if o.pub == "" || !o.revoke && (o.principal == "" || len(o.roles) == 0) {
		return usagef("--pub, --principal and --role are needed")
	}
	pub, err := dsse.ReadPublic(o.pub)
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
	if i := slices.IndexFunc(t.Keys, func(k bundle.TrustKey) bool { return k.KeyID == id }); o.revoke {
		if i < 0 {
			return refusef("the key is not in %s", o.file)
		}
		t.Keys[i].Status = bundle.KeyRevoked
	} else {
		k := bundle.TrustKey{
			KeyID: id, PublicKey: string(pem), Principal: o.principal, Roles: o.roles, Status: bundle.KeyActive,
			ValidFrom: bundle.FormatTime(now.Add(-bundle.MaxAhead)), ValidUntil: bundle.FormatTime(now.Add(valid)),
		}
		if i >= 0 {
			t.Keys[i] = k
		} else {
			t.Keys = append(t.Keys, k)
		}
	}
	return o.write(t, w)
}

// read is trust.json as it is, or a new one; its version goes up.
func (o *trustOptions) read(now time.Time, valid time.Duration) (*bundle.Trust, error) {
	t := &bundle.Trust{Schema: bundle.SchemaTrust, ExpiresAt: bundle.FormatTime(now.Add(valid)), Keys: []bundle.TrustKey{}}
	text, err := os.ReadFile(o.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		var refused *bundle.Error
		if t, refused = bundle.ParseTrust(text); refused != nil {
			return nil, refusef("%s: %v", o.file, refused)
		}
	}
	t.Version++
	switch o.require {
	case "":
	case "true", "false":
		t.RequireSignature = o.require == "true"
	default:
		return nil, usagef("--require-signature: true or false")
	}
	return t, nil
}

// write replaces the file as a whole: a plane must never read half of it.
func (o *trustOptions) write(t *bundle.Trust, w World) error {
	text, err := t.Encode()
	if err != nil {
		return usagef("%v", err)
	}
	if err := os.MkdirAll(filepath.Dir(o.file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(o.file), ".trust-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), o.file); err != nil {
		return err
	}
	fmt.Fprintf(w.Out, "%s version %d, %d keys\n", o.file, t.Version, len(t.Keys))
	return nil
}
