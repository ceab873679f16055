package store_test

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/store"
)

// token is a key that only signs, as one of a token or a key service does.
type token struct {
	key   crypto.Signer
	signs *int
}

func (k token) Public() crypto.PublicKey { return k.key.Public() }
func (k token) Sign(r io.Reader, digest []byte, o crypto.SignerOpts) ([]byte, error) {
	*k.signs++
	return k.key.Sign(r, digest, o)
}

// TestKeysHeldElsewhere: a log begins and goes on with keys that are no files, and signs nothing at a start
// that has nothing to write.
func TestKeysHeldElsewhere(t *testing.T) {
	dir, signs := t.TempDir(), 0
	seed := sha256.Sum256([]byte("TEST ONLY log key"))
	signers := &store.Signers{Statement: token{planetest.Key("statement"), &signs}, Log: token{ed25519.NewKeyFromSeed(seed[:]), &signs}}
	open := func(s *store.Signers) (*store.Store, error) {
		return store.Open(t.Context(), store.Options{Dir: dir, Signers: s, Now: func() time.Time { return planetest.Start }})
	}
	for i := range 2 {
		signs = 0
		s, err := open(signers)
		if err != nil || s.Damage() != nil {
			t.Fatalf("%v %v", err, s.Damage())
		}
		if (i == 0) != (signs > 0) {
			t.Errorf("start %d has signed %d times", i, signs)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, store.KeyDir)); !os.IsNotExist(err) {
		t.Errorf("key files were made: %v", err)
	}
	if _, err := open(&store.Signers{Statement: signers.Log, Log: signers.Statement}); err == nil {
		t.Error("the two keys are exchanged, and nothing is noticed")
	}
	other := sha256.Sum256([]byte("TEST ONLY another key"))
	if _, err := open(&store.Signers{Statement: signers.Statement, Log: token{ed25519.NewKeyFromSeed(other[:]), &signs}}); err == nil {
		t.Error("the log goes on with another key")
	}
}
