package control_test

import (
	"context"
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/governance/witness"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/translog"
)

// awaitCosigned waits until the log has recorded a cosignature and its newest checkpoint is one that is
// wanted. It returns what was recorded.
func awaitCosigned(t *testing.T, p *planetest.Plane, wanted func(note string) bool) []promotion.Witnessed {
	t.Helper()
	for range 500 {
		var list []promotion.Witnessed
		for seq := range p.Store.Size() {
			e := must[*store.EntryAt](t)(p.Store.Entry(t.Context(), seq))
			for _, f := range e.Facts {
				if said, ok := f.Fields.(*promotion.Witnessed); ok {
					list = append(list, *said)
				}
			}
		}
		if len(list) > 0 && wanted(string(get(t, p, "/checkpoint", nil).Body)) {
			return list
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no cosignature was recorded")
	return nil
}

// TestWitnessedPlane: what a plane gives out after a commit is cosigned, and an entry names when it was.
func TestWitnessedPlane(t *testing.T) {
	// The witness follows the log before the plane has it as a witness: it needs the log's key.
	dir := t.TempDir() + "/g"
	begun := must[*planetest.Plane](t)(planetest.Open(planetest.Options{Dir: dir}))
	key := begun.Store.LogKey()
	if err := begun.Close(); err != nil {
		t.Fatal(err)
	}
	at := planetest.Start.Add(time.Minute)
	w := must[*witness.Witness](t)(witness.Open(witness.Options{Dir: t.TempDir(), Name: "w", Logs: []translog.LogKey{key},
		Now: func() time.Time { return at }}))
	t.Cleanup(w.Close)
	served := httptest.NewServer(w.Handler(edge.NewHosts("127.0.0.1"), hclog.NewNullLogger()))
	t.Cleanup(served.Close)
	t.Cleanup(func() { // the plane is closed by then
		if different, err := store.Rebuild(context.Background(), store.Place{Dir: dir}, true); err != nil || len(different) > 0 {
			t.Errorf("rebuild: %v %v", different, err)
		}
	})
	p := plane(t, planetest.Options{Dir: dir, Witnesses: []witness.At{{URL: served.URL, Key: w.Key()}}})
	submit(t, p, http.StatusCreated, planetest.Good(p.Now()))
	get(t, p, "/deployable-registry/sma-cross", nil) // waits for the witness
	quorum := translog.Quorum{Keys: []translog.WitnessKey{w.Key()}, Need: 1}
	logged := awaitCosigned(t, p, func(note string) bool { return quorum.Check(note, key) == nil })
	if len(logged) != 1 || logged[0].By[0].Witness != w.Key().VKey() ||
		logged[0].By[0].At != at.Format(time.RFC3339) {
		t.Errorf("logged: %+v", logged)
	}
	var fact struct {
		CosignedAt string `json:"cosigned_at"`
	}
	if get(t, p, "/facts/2", &fact); fact.CosignedAt != at.Format(time.RFC3339) {
		t.Errorf("cosigned at %q", fact.CosignedAt)
	}
	// What no witness has cosigned of this log is not taken, whoever signs it.
	for name, c := range map[string]translog.Checkpoint{
		"another root": {Origin: key.Origin, Size: 2}, "another log": {Origin: "other", Size: 2},
	} {
		line := must[string](t)(translog.Cosign(c, "w", ed25519.NewKeyFromSeed(make([]byte, 32)), at))
		own := must[translog.WitnessKey](t)(translog.NewWitnessKey("w",
			ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey)))
		if _, err := p.Store.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Append(&promotion.Entry{Type: bundle.TypeCosigned, Predicate: &promotion.Cosigned{
				Origin: c.Origin, Size: c.Size, Root: translog.Hex(c.Root), RecordedAt: tx.Stamp(),
				Cosignatures: []promotion.Cosignature{{Witness: own.VKey(), Line: line}}}})
			return err
		}); err == nil || !strings.Contains(err.Error(), "not a checkpoint of this log") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// While the witness is away entries are taken, and name no time; the newest cosigned checkpoint is given
	// out as long as it has what is asked for.
	served.Close()
	submit(t, p, http.StatusCreated, planetest.Good(p.Now(), planetest.Title("2")))
	e := must[*translog.Extension](t)(translog.ParseExtension(string(get(t, p, "/log/consistency?from=2", nil).Body)))
	if err := quorum.Check(e.Note, key); err != nil {
		t.Errorf("an older checkpoint that is cosigned was there: %v", err)
	}
	newest := must[*translog.Checkpoint](t)(translog.OpenCheckpoint(string(get(t, p, "/checkpoint", nil).Body), key))
	if head, _ := translog.PeekCheckpoint(e.Note); newest.Size <= head.Size {
		t.Errorf("%d entries are cosigned of %d", head.Size, newest.Size)
	}
}
