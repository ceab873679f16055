package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/control"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/governance/witness"
	"github.com/assay-run/assay/host/base/cli"
)

// rotateOptions are the flags of governance keys rotate.
type rotateOptions struct {
	stateOption
	jsonOption
	passphraseOption
	Witnesses   []string `flag:"witness" usage:"address of a witness that cosigns the change, repeatable; each needs its --witness-key"`
	WitnessKeys []string `flag:"witness-key" usage:"verifier key of the witness at the same place, repeatable"`
	Quorum      int      `flag:"witness-quorum" usage:"how many cosignatures the old keys wait for (default all)"`
}

func keysRotate(w World) *cobra.Command {
	o := &rotateOptions{}
	var set *cli.Flags
	cmd := &cobra.Command{
		Use: "rotate", Short: "Change the keys of this plane's log; no plane may be running",
		Args: cobra.NoArgs,
		Long: "Makes new keys and logs the change: the old statement key signs the entry, the old log " +
			"key the checkpoint\nthat ends with it, the new keys consent, and the witnesses cosign. From " +
			"then on the new keys sign, and the\nold ones are kept as keys/old-*: " +
			"remove them.\nServices follow the change " +
			"by themselves; a witness is told the " +
			"new key behind the old one (--log OLD --log NEW).",
		Example: "  governance keys rotate\n  governance keys rotate --witness http://127.0.0.1:8011 " +
			"--witness-key witness.example.com+5678cdef+BA...",
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), o.place(set), w) },
	}
	cmd.Flags().SortFlags = false
	set = bind(cmd, w, o)
	return cmd
}

// witnessed is how long all witnesses together may take.
const witnessed = 30 * time.Second

func (o *rotateOptions) run(ctx context.Context, place store.Place, w World) error {
	at, err := witnessesOf(o.Witnesses, o.WitnessKeys)
	if err != nil {
		return err
	}
	options := store.Options{Dir: place.Dir, Database: place.Database, Now: w.Now, Unlock: o.unlock(w)}
	keys, err := store.Rotate(ctx, options, nil, func(s *store.Store) error {
		return askAll(ctx, s, place.Dir, at, o.Quorum)
	})
	if err != nil {
		return err
	}
	if o.JSON {
		return printJSON(w.Out, map[string]any{"from": keys.From, "key_id": keys.Statement.ID(),
			"log_key": keys.Log.VKey()})
	}
	fmt.Fprintf(w.Out, "from entry %d on\nkey_id %s\nlog_key %s\n", keys.From, keys.Statement.ID(),
		keys.Log.VKey())
	return nil
}

// askAll asks the witnesses for the newest checkpoint until enough have cosigned it.
func askAll(ctx context.Context, s *store.Store, dir string, at []witness.At, quorum int) error {
	if len(at) == 0 {
		return nil
	}
	list, err := control.OpenWitnesses(s, dir, at, quorum)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, witnessed)
	defer cancel()
	size, err := control.AskWitnesses(ctx, s, list)
	if newest := list.Newest(); newest != nil && newest.Size == size {
		return nil
	}
	return refusef("the witnesses have not cosigned the log: %v", errors.Join(err, ctx.Err()))
}
