package store_test

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/hosttest"
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

// TestKeysOfAnAgent: a plane whose key files name keys of an SSH agent begins, goes on, is checked, and
// changes to other keys of the agent; without the agent it does not start, and makes no keys of its own.
func TestKeysOfAnAgent(t *testing.T) {
	ring := agent.NewKeyring()
	socket := hosttest.Agent(t, ring)
	dir := t.TempDir()
	keys := filepath.Join(dir, store.KeyDir)
	if err := os.MkdirAll(keys, 0o700); err != nil {
		t.Fatal(err)
	}
	hold := func(name string, key any) {
		t.Helper()
		if err := ring.Add(agent.AddedKey{PrivateKey: key}); err != nil {
			t.Fatal(err)
		}
		public, err := ssh.NewPublicKey(key.(crypto.Signer).Public())
		if err != nil {
			t.Fatal(err)
		}
		held, err := dsse.AgentKey(ssh.FingerprintSHA256(public))
		if err != nil {
			t.Fatal(err)
		}
		if err := dsse.WriteAgent(filepath.Join(keys, name), held); err != nil {
			t.Fatal(err)
		}
	}
	logKey := func(name string) ed25519.PrivateKey {
		seed := sha256.Sum256([]byte("TEST ONLY " + name))
		return ed25519.NewKeyFromSeed(seed[:])
	}
	hold(store.StatementKeyFile, planetest.Key("statement"))
	private := logKey("log key")
	hold(store.LogKeyFile, &private)
	options := store.Options{Dir: dir, Now: func() time.Time { return planetest.Start }}
	start := func() {
		t.Helper()
		s, err := store.Open(t.Context(), options)
		if err != nil || s.Damage() != nil {
			t.Fatalf("%v %v", err, s.Damage())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	start()
	start()
	if d, err := store.Rebuild(t.Context(), store.Place{Dir: dir}, true); err != nil || len(d) > 0 {
		t.Errorf("%v %v", d, err)
	}
	t.Setenv("SSH_AUTH_SOCK", "")
	if _, err := store.Open(t.Context(), options); err == nil || !strings.Contains(err.Error(), "statement key: ") ||
		!strings.Contains(err.Error(), "SSH_AUTH_SOCK is not set") {
		t.Errorf("without an agent: %v", err)
	}
	t.Setenv("SSH_AUTH_SOCK", socket)
	nobody := func(*store.Store) error { return nil }
	if _, err := store.Rotate(t.Context(), options, nil, nobody); err == nil ||
		!strings.Contains(err.Error(), "governance keys new "+filepath.Join(keys, "next-statement")) {
		t.Errorf("a change to keys that nobody has made: %v", err)
	}
	next := logKey("next log key")
	hold("next-"+store.StatementKeyFile, planetest.Key("next statement"))
	hold("next-"+store.LogKeyFile, &next)
	if epoch, err := store.Rotate(t.Context(), options, nil, nobody); err != nil ||
		!epoch.Statement.Public.Equal(planetest.Key("next statement").Public()) {
		t.Fatalf("%v %v", epoch, err)
	}
	start()
}
