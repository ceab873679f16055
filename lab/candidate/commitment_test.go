package candidate_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/lab/candidate"
)

func newSecret(t testing.TB) (*candidate.Secret, string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id, err := dsse.KeyID(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	sum := digest.SHA256Hex([]byte("x"))
	s, err := candidate.NewSecret("governance.test", bundle.RevisionPrefix+sum, key, &bundle.ChallengeAnswer{
		Challenge: bundle.Challenge{Schema: bundle.SchemaChallenge, Leaf: sum, Start: "2023-01-01T00:00:00.000Z",
			Candles: 2000}, DecisionSHA256: sum})
	if err != nil {
		t.Fatal(err)
	}
	return s, id
}

// TestSecrets: what is kept is read again, by its owner only; what was changed is refused by its path.
func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	s, id := newSecret(t)
	if none, err := candidate.LoadSecret(dir, s.CandidateRevisionID, id); none != nil || err != nil {
		t.Errorf("%+v, %v", none, err)
	}
	if err := s.Keep(dir); err != nil {
		t.Fatal(err)
	}
	again, err := candidate.LoadSecret(dir, s.CandidateRevisionID, id)
	if err != nil || *again != *s {
		t.Errorf("%+v, %v", again, err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "commitments", "*"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%v, %v", paths, err)
	}
	if info, err := os.Stat(paths[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if other, _ := newSecret(t); other.Nonce == s.Nonce {
		t.Error("two secrets have the same nonce")
	}
	if err := os.WriteFile(paths[0], []byte(`{"schema":"lab-commitment/v2"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := candidate.LoadSecret(dir, s.CandidateRevisionID, id); err == nil || !strings.Contains(err.Error(), paths[0]) {
		t.Errorf("%v", err)
	}
}

// FuzzParseSecret: what is read has a commitment, and is written again as the same secret.
func FuzzParseSecret(f *testing.F) {
	s, _ := newSecret(f)
	text, err := digest.JCS(s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := candidate.ParseSecret(text)
		if err != nil {
			return
		}
		if sum, err := s.Commitment(); err != nil || len(sum) != 64 {
			t.Fatalf("%q, %v", sum, err)
		}
		again, err := digest.JCS(s)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := candidate.ParseSecret(again); err != nil || *back != *s {
			t.Fatalf("%+v, %v, was %+v", back, err, s)
		}
	})
}
