package dsse_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/base/dsse"
)

const kind = "application/vnd.in-toto+json"

func testKey(t testing.TB, name string) *ecdsa.PrivateKey {
	t.Helper()
	scalar := sha256.Sum256([]byte("TEST ONLY " + name + " key"))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar[:])
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// The example of the DSSE protocol's own text.
func TestPAE(t *testing.T) {
	got := string(dsse.PAE("http://example.com/HelloWorld", []byte("hello world")))
	if want := "DSSEv1 29 http://example.com/HelloWorld 11 hello world"; got != want {
		t.Errorf("got %q", got)
	}
	if got := string(dsse.PAE("é", nil)); got != "DSSEv1 2 é 0 " {
		t.Errorf("lengths are not in bytes: %q", got)
	}
}

// RFC 6979 A.2.5: P-256 with SHA-256, message "sample". The envelope's signature is over
// a PAE, so this holds the library to the values that Sign relies on.
func TestSignaturesAreThoseOfRFC6979(t *testing.T) {
	scalar, _ := hex.DecodeString("C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721")
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("sample"))
	sig, err := key.Sign(nil, sum[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	var rs struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(sig, &rs); err != nil {
		t.Fatal(err)
	}
	const r, s = "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
		"f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
	if rs.R.Text(16) != r || rs.S.Text(16) != s {
		t.Errorf("got %x, %x", rs.R, rs.S)
	}
}

func TestSignAndVerify(t *testing.T) {
	lab, other := testKey(t, "lab"), testKey(t, "other")
	e, err := dsse.Sign(kind, []byte(`{"a":1}`), lab)
	if err != nil {
		t.Fatal(err)
	}
	again, err := dsse.Sign(kind, []byte(`{"a":1}`), lab)
	if err != nil || !reflect.DeepEqual(e, again) {
		t.Errorf("a signature depends on chance: %v", err)
	}
	two, err := dsse.Sign(kind, []byte(`{"a":1}`), other)
	if err != nil {
		t.Fatal(err)
	}
	both := e
	both.Signatures = []dsse.Signature{{Sig: two.Signatures[0].Sig, KeyID: "of somebody else"},
		e.Signatures[0]}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		e    dsse.Envelope
		want []int
	}{{e, []int{1}}, {two, []int{2}}, {both, []int{1, 2}}} {
		signed := decode(t, c.e)
		if got := signed.Verify(nil, &lab.PublicKey, &other.PublicKey, &p384.PublicKey); !slices.Equal(got,
			c.want) {
			t.Errorf("got %v, want %v", got, c.want)
		}
		if string(signed.Payload) != `{"a":1}` || signed.Envelope.PayloadType != kind {
			t.Errorf("got %s", signed.Payload)
		}
	}
	typed := e
	typed.PayloadType = "application/json"
	if got := decode(t, typed).Verify(&lab.PublicKey); got != nil {
		t.Error("signed as one type, shown as another")
	}
	for _, key := range []*ecdsa.PrivateKey{nil, p384} {
		if _, err := dsse.Sign(kind, nil, key); err == nil {
			t.Error("signed with another kind of key")
		}
	}
}

func decode(t *testing.T, e dsse.Envelope) *dsse.Signed {
	t.Helper()
	s := &dsse.Signed{Envelope: e, Payload: dsse.Base64(e.Payload)}
	for _, one := range e.Signatures {
		s.Signatures = append(s.Signatures, dsse.Base64(one.Sig))
	}
	return s
}

func TestKeyFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "statement.key")
	lab := testKey(t, "lab")
	if err := dsse.WriteKey(path, lab); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if key, err := dsse.ReadP256(path); err != nil || !lab.Equal(key) {
		t.Errorf("got %v", err)
	}
	if pub, err := dsse.ReadPublic(filepath.Join(dir, "statement.pub")); err != nil ||
		!lab.PublicKey.Equal(pub) {
		t.Errorf("got %v", err)
	}
	if err := dsse.WriteKey(path, testKey(t, "other")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("overwritten: %v", err)
	}
	if key, err := dsse.ReadP256(path); err != nil || !lab.Equal(key) {
		t.Errorf("overwritten: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("%v is left, %v", left, err)
	}
	seed := sha256.Sum256([]byte("TEST ONLY log key"))
	log := ed25519.NewKeyFromSeed(seed[:])
	if err := dsse.WriteKey(filepath.Join(dir, "log.key"), log); err != nil {
		t.Fatal(err)
	}
	if key, err := dsse.ReadKey(filepath.Join(dir, "log.key")); err != nil || !log.Equal(key) {
		t.Errorf("got %v", err)
	}
	if _, err := dsse.ReadP256(filepath.Join(dir, "log.key")); err == nil {
		t.Error("an Ed25519 key signs statements")
	}
	if err := os.Mkdir(filepath.Join(dir, "half.pub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := dsse.WriteKey(filepath.Join(dir, "half.key"), lab); err == nil {
		t.Error("the public key was not written, and nothing is said")
	}
	if _, err := os.Stat(filepath.Join(dir, "half.key")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half of a pair is left: %v", err)
	}
}

func TestBadKeyFiles(t *testing.T) {
	dir := t.TempDir()
	text, err := dsse.PrivatePEM(testKey(t, "lab"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bad := []string{
		dir, filepath.Join(dir, "absent"), write("empty", nil, 0o600),
		write("twice", append(text, text...), 0o600),
		write("cut", text[:len(text)/2], 0o600), write("public", publicPEM(t), 0o600),
		write("large", make([]byte, 1<<17), 0o600),
		write("before", append([]byte("x\n"), text...), 0o600),
	}
	if runtime.GOOS != "windows" {
		bad = append(bad, write("group", text, 0o640), write("world", text, 0o604),
			write("writable", text, 0o620))
	}
	for _, path := range bad {
		if key, err := dsse.ReadKey(path); err == nil || key != nil {
			t.Errorf("%s was read", path)
		} else if strings.Contains(err.Error(), "MIGH") {
			t.Errorf("the error quotes the key: %v", err)
		}
	}
	if _, err := dsse.ReadKey(write("spaced", append(append([]byte("\n"), text...), '\n', '\n'),
		0o400)); err != nil {
		t.Errorf("blanks around it: %v", err)
	}
	if _, err := dsse.ReadPublic(filepath.Join(dir, "cut")); err == nil {
		t.Error("half of a private key is a public key")
	}
}

func publicPEM(t *testing.T) []byte {
	t.Helper()
	text, err := dsse.PublicPEM(testKey(t, "lab").Public())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestPublicKeys(t *testing.T) {
	text := publicPEM(t)
	key, err := dsse.ParseP256(text)
	if err != nil || !key.Equal(testKey(t, "lab").Public()) {
		t.Fatal(err)
	}
	// The key of the shared reference results.
	const reference = "-----BEGIN PUBLIC " +
		"KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEbN5KUY3nGyKGUNhbjuNsPfdldcAL\ntJ/Kn3APXxAV6V3k/A5/iBbeYxGUNxFsp0Jnfga7JyDLAGg/y3VZPkF3Zg==\n-----END PUBLIC KEY-----\n"
	if string(text) != reference {
		t.Errorf("got %s", text)
	}
	der, err := dsse.PublicDER(key)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(der)
	if id, err := dsse.KeyID(key); err != nil || id != hex.EncodeToString(sum[:]) {
		t.Errorf("got %s, %v", id, err)
	}
	rsaDER, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), 2047),
		E: 65537})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{
		nil, []byte("x"), append(text, text...),
		pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: rsaDER}),
		pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: append(bytes.Clone(der), 0)}),
		pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der, Headers: map[string]string{"a": "b"}}),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
	} {
		if _, err := dsse.ParsePublic(bad); err == nil {
			t.Errorf("%.80q is a key", bad)
		}
	}
	if _, err := dsse.KeyID("x"); err == nil {
		t.Error("a string is a key")
	}
	if key, err := dsse.Generate(); err != nil || key.Curve != elliptic.P256() {
		t.Errorf("got %v", err)
	}
}
