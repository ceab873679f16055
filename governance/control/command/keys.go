package command

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/dsse"
)

func keysCommand(w World) *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Make keys, show this plane's, say whose count", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(keysNew(w), keysShow(w), keysTrust(w))
	return cmd
}

func keysNew(w World) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "new NAME", Short: "Make a P-256 pair: NAME.key, for its owner only, and NAME.pub", Args: cobra.ExactArgs(1),
		Long:    "Makes a P-256 pair: NAME.key signs and stays with its owner, NAME.pub goes to whoever runs the plane.",
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
				return usagef("there is no folder %s for %s: make it first (mkdir -p %s)", dir, filepath.Base(path), dir)
			} else if err != nil {
				return err
			}
			id, err := dsse.KeyID(key.Public())
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(w.Out, map[string]string{"key": path, "pub": dsse.PublicPath(path), "key_id": id})
			}
			fmt.Fprintf(w.Out, "%s\n%s\nkey_id %s\n", path, dsse.PublicPath(path), id)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, jsonHelp)
	return cmd
}

func keysShow(w World) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show", Short: "Show this plane's public keys", Args: cobra.NoArgs,
		Long:    "Shows the name and the public keys of the log in the state folder, also while a plane is running on it.",
		Example: "  governance keys show\n  governance keys show --json",
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
			if asJSON {
				return printJSON(w.Out, map[string]string{"log_origin": id.Origin, "log_key": id.LogKey, "key_id": keyID, "public_key": id.StatementKey})
			}
			fmt.Fprintf(w.Out, "log_origin %s\nlog_key %s\nkey_id %s\n%s", id.Origin, id.LogKey, keyID, id.StatementKey)
			return nil
		},
	}
	stateDir.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, jsonHelp)
	return cmd
}
