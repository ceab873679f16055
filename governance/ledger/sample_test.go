package ledger

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/translog"
)

const testOrigin = "governance.lab.example"

func statementKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	d := sha256.Sum256([]byte("TEST ONLY governance key"))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), d[:])
	must(t, err)
	return key
}

func checkpointKey(name string) ed25519.PrivateKey {
	d := sha256.Sum256([]byte("TEST ONLY " + name))
	return ed25519.NewKeyFromSeed(d[:])
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func public(t testing.TB) *Key {
	t.Helper()
	key, err := NewKey(&statementKey(t).PublicKey)
	must(t, err)
	return key
}

func logKeyOf(t testing.TB, origin string) LogKey {
	t.Helper()
	key, err := translog.NewLogKey(origin, checkpointKey("log key").Public().(ed25519.PublicKey))
	must(t, err)
	return key
}

func entry(t testing.TB, i int) Entry {
	t.Helper()
	env, err := dsse.Sign("application/vnd.in-toto+json",
		fmt.Appendf(nil, `{"i":%d,"predicate":{"received_at":"%s","rungs":["hash_verified","hash_claimed"]}}`,
			i, sampleTime), statementKey(t))
	must(t, err)
	e, err := EntryOf(env)
	must(t, err)
	return e
}

func newLog(t testing.TB, n int) (*Log, []Entry) {
	t.Helper()
	log, err := NewLog(testOrigin, ringOf(t), checkpointKey("log key"), &Tree{}, "")
	must(t, err)
	var entries []Entry
	for i := range n {
		entries = append(entries, entry(t, i))
		batch, err := log.Prepare(entries[i])
		must(t, err)
		must(t, log.Commit(batch))
	}
	return log, entries
}

func trustedLogs(t testing.TB) []TrustedLog {
	t.Helper()
	return []TrustedLog{{LogKey: logKeyOf(t, testOrigin)}}
}

// ringOf is the keys of the test's log, which never change.
func ringOf(t testing.TB) Ring {
	t.Helper()
	key, err := translog.NewLogKey(testOrigin, checkpointKey("log key").Public().(ed25519.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	return Ring{{Statement: public(t), Log: key}}
}
