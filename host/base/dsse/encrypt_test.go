package dsse_test

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/hosttest/ring"
)

func no(string) (string, bool) { return "", false }

func secret(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pass")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEncryptedKeys: what was encrypted opens with its passphrase only, from file or variable.
func TestEncryptedKeys(t *testing.T) {
	ring.Slow(t, "each key that is opened costs 600,000 rounds of PBKDF2")
	seed := sha256.Sum256([]byte("TEST ONLY log key"))
	for name, key := range map[string]interface {
		crypto.Signer
		Equal(crypto.PrivateKey) bool
	}{"p256": testKey(t, "lab"), "ed25519": ed25519.NewKeyFromSeed(seed[:])} {
		path := filepath.Join(t.TempDir(), name+".key")
		if err := dsse.WriteEncrypted(path, key, []byte("correct horse")); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil || !dsse.Encrypted(text) {
			t.Fatalf("%s, %v", text, err)
		}
		for what, unlock := range map[string]dsse.Unlock{
			"a file":         dsse.UnlockFrom(secret(t, "correct horse\n"), no),
			"a file by name": dsse.UnlockFrom("", func(n string) (string, bool) { return secret(t, "correct horse"), n == dsse.PassphraseFileVariable }),
			"a variable": dsse.UnlockFrom("", func(n string) (string, bool) {
				return map[string]string{dsse.PassphraseVariable: "correct horse"}[n], true
			}),
			"what it is asked": func(string) ([]byte, error) { return []byte("correct horse"), nil },
		} {
			if got, err := dsse.ReadKey(path, unlock); err != nil || !key.Equal(got) {
				t.Errorf("%s by %s: %v", name, what, err)
			}
		}
		for what, unlock := range map[string]dsse.Unlock{
			"nothing": nil, "no passphrase": dsse.UnlockFrom("", no), "a wrong one": dsse.UnlockFrom(secret(t, "correct house"), no),
			"an empty one": dsse.UnlockFrom(secret(t, ""), no), "no file": dsse.UnlockFrom(filepath.Join(t.TempDir(), "none"), no),
			"an error": func(string) ([]byte, error) { return nil, errors.New("x") },
		} {
			if got, err := dsse.ReadKey(path, unlock); err == nil || got != nil {
				t.Errorf("%s opens by %s", name, what)
			} else if strings.Contains(err.Error(), "house") {
				t.Errorf("the error quotes the passphrase: %v", err)
			}
		}
	}
	open := secret(t, "x")
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := dsse.UnlockFrom(open, no)("k"); err == nil {
		t.Error("a passphrase that others can read is taken")
	}
	if _, err := dsse.EncryptedPEM(testKey(t, "lab"), nil); err == nil {
		t.Error("encrypted with nothing")
	}
}

// TestEncrypt replaces a file, and another passphrase replaces the first.
func TestEncrypt(t *testing.T) {
	ring.Slow(t, "each key that is opened costs 600,000 rounds of PBKDF2")
	path := filepath.Join(t.TempDir(), "a.key")
	if err := dsse.WriteKey(path, testKey(t, "lab")); err != nil {
		t.Fatal(err)
	}
	one, two := dsse.UnlockFrom(secret(t, "one"), no), dsse.UnlockFrom(secret(t, "two"), no)
	if err := dsse.Encrypt(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := dsse.Encrypt(path, []byte("two"), two); err == nil {
		t.Error("changed without the passphrase")
	}
	if err := dsse.Encrypt(path, []byte("two"), one); err != nil {
		t.Fatal(err)
	}
	if key, err := dsse.ReadP256(path, two); err != nil || !testKey(t, "lab").Equal(key) {
		t.Errorf("%v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestOpenSSL: openssl reads what is written here, and what it writes is read.
func TestOpenSSL(t *testing.T) {
	ring.Slow(t, "each key that is opened costs 600,000 rounds of PBKDF2")
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	plain, err := dsse.PrivatePEM(testKey(t, "lab"))
	if err != nil {
		t.Fatal(err)
	}
	if err := dsse.WriteEncrypted(path("ours.key"), testKey(t, "lab"), []byte("correct horse")); err != nil {
		t.Fatal(err)
	}
	got, err := exec.Command(openssl, "pkcs8", "-in", path("ours.key"), "-passin", "pass:correct horse").Output()
	if err != nil || !bytes.Equal(got, plain) {
		t.Errorf("openssl: %v", err)
	}
	if err := os.WriteFile(path("plain.key"), plain, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(openssl, "pkcs8", "-topk8", "-v2", "aes-256-cbc", "-v2prf", "hmacWithSHA256", "-iter", "10000", "-in", path("plain.key"),
		"-out", path("theirs.key"), "-passout", "pass:correct horse").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if key, err := dsse.ReadP256(path("theirs.key"), dsse.UnlockFrom(secret(t, "correct horse"), no)); err != nil || !testKey(t, "lab").Equal(key) {
		t.Errorf("what openssl has encrypted: %v", err)
	}
	if out, err := exec.Command(openssl, "pkcs8", "-topk8", "-scrypt", "-in", path("plain.key"), "-out", path("scrypt.key"), "-passout", "pass:x").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if _, err := dsse.ReadKey(path("scrypt.key"), dsse.UnlockFrom(secret(t, "x"), no)); err == nil || !strings.Contains(err.Error(), "openssl pkcs8") {
		t.Errorf("another container: %v", err)
	}
}

// elsewhere is a key that only signs: a token, or a key service.
type elsewhere struct{ key crypto.Signer }

func (e elsewhere) Public() crypto.PublicKey { return e.key.Public() }
func (e elsewhere) Sign(r io.Reader, digest []byte, o crypto.SignerOpts) ([]byte, error) {
	return e.key.Sign(r, digest, o)
}

// TestSignerElsewhere: a key that is no key in memory signs envelopes too.
func TestSignerElsewhere(t *testing.T) {
	key := testKey(t, "lab")
	env, err := dsse.Sign("t", []byte("p"), elsewhere{key})
	if err != nil || len(decode(t, env).Verify(&key.PublicKey)) != 1 {
		t.Errorf("%v", err)
	}
	seed := sha256.Sum256([]byte("TEST ONLY log key"))
	if _, err := dsse.Sign("t", []byte("p"), elsewhere{ed25519.NewKeyFromSeed(seed[:])}); err == nil {
		t.Error("an Ed25519 key signs statements")
	}
}

func FuzzParseEncrypted(f *testing.F) {
	// A cheap one: what is tried is the container, not the patience of PBKDF2.
	f.Add([]byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if key, err := dsse.ParseEncrypted(text, []byte("x")); err == nil && key == nil {
			t.Fatal("neither key nor error")
		}
	})
}
