package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/governance/witness"
	"github.com/assay-run/assay/host/base/translog"
	"github.com/assay-run/assay/host/deploy"
)

// TestKeysRotate: a log changes its keys, twice. A host that has pinned the first one follows, a witness
// that was told follows, the log verifies from its beginning, and a change that no witness has cosigned is
// refused.
func TestKeysRotate(t *testing.T) {
	dir, folder := filepath.Join(t.TempDir(), "g"), filepath.Join(t.TempDir(), "w")
	now := func() time.Time { return planetest.Start }
	d := newDeskAt(t, dir)
	pinned, logs := d.p.Store.Keys().Public.Public, []string{"--log", d.p.Store.LogKey().VKey()}
	name := []string{"--state-dir", folder, "--name", "witness.example.com"}
	at, stop := witnessing(t, append(name, logs...)...)
	quorum := translog.Quorum{Keys: []translog.WitnessKey{at.Key}, Need: 1}
	d.close()
	early := copyFolder(t, dir)
	open := func(dir string) *desk {
		p, err := planetest.Open(planetest.Options{Dir: dir, Trust: planetest.Trust(1), Witnesses: []witness.At{at}})
		if err != nil {
			t.Fatal(err)
		}
		return &desk{t, p, d.keys}
	}
	d = open(dir)
	d.toLive()
	first := d.remember()
	host := t.TempDir()
	if _, err := d.startPinned(host, quorum, pinned); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(host, "control", "log", "checkpoint.json"))
	if err != nil {
		t.Fatal(err)
	}
	if first.kept, err = translog.ParseKept(kept); err != nil {
		t.Fatal(err)
	}
	d.close()
	stolen := copyFolder(t, dir)
	d = openDesk(t, early, d.keys)
	first.forged = planetest.Good(d.p.Now(), planetest.Title("sealed by a thief of the first key"))
	first.copied = d.receipt(first.forged)
	d.close()

	for round := range 2 {
		code, out, errs := run(t, now, "", "keys", "rotate", "--state-dir", dir, "--witness", at.URL, "--witness-key",
			at.Key.VKey())
		if code != 0 || !strings.Contains(out, "log_key ") {
			t.Fatalf("round %d: exit %d\n%s%s", round, code, out, errs)
		}
		stop()
		d = openDesk(t, dir, d.keys)
		logs = append(logs, "--log", d.p.Store.LogKey().VKey())
		d.close()
		at, stop = witnessing(t, append(name, logs...)...)
		d = open(dir)
		if round == 0 {
			d.fill() // entries under the new keys before the next change
		}
		if _, err := d.startPinned(host, quorum, pinned); err != nil {
			t.Errorf("round %d: a host with the first key: %v", round, err)
		}
		if _, err := d.start(t.TempDir(), quorum); err != nil {
			t.Errorf("round %d: a host with the newest key: %v", round, err)
		}
		if round == 1 {
			first.check(t, d)
		}
		d.close()
	}
	stop()
	since := filepath.Join(t.TempDir(), "kept.json")
	if err := os.WriteFile(since, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := run(t, now, "", "verify", "--log", "--state-dir", dir, "--since", since)
	if code != 0 || strings.Count(out, "changes the keys to ") != 2 || !strings.Contains(out, "trust.json version 1 counts") {
		t.Errorf("verify: exit %d\n%s%s", code, out, errs)
	}
	if code, out, errs := run(t, now, "", "rebuild", "--check", "--state-dir", dir); code != 0 {
		t.Errorf("rebuild: exit %d\n%s%s", code, out, errs)
	}
	for _, name := range []string{store.StatementKeyFile, store.LogKeyFile} {
		if old, err := filepath.Glob(filepath.Join(dir, "keys", "old-*-"+name)); err != nil || len(old) != 2 {
			t.Errorf("old keys: %v %v", old, err)
		}
	}

	// Whoever has the old keys changes them without the witness.
	if code, out, errs := run(t, now, "", "keys", "rotate", "--state-dir", stolen); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	if err := os.Remove(filepath.Join(stolen, witness.File)); err != nil {
		t.Fatal(err)
	}
	d = openDesk(t, stolen, d.keys)
	d.fill()
	for name, state := range map[string]string{"has seen the log": host, "has seen nothing": t.TempDir()} {
		if _, err := d.startPinned(state, quorum, pinned); must2(codeOf(err)) != deploy.RegistryRollback {
			t.Errorf("a host that %s: %v", name, err)
		}
	}
	// Without witnesses only who has seen the log that went on refuses it.
	if _, err := d.startPinned(host, translog.Quorum{}, pinned); must2(codeOf(err)) != deploy.RegistryRollback {
		t.Errorf("a host without witnesses: %v", err)
	}
	d.close()
}
