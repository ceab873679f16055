package ledger

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/translog"
)

// TestLeafIsCanonicalJSON compares the leaf with the canonical form of the Rekor v2
// entry written as a value.
func TestLeafIsCanonicalJSON(t *testing.T) {
	key := public(t)
	rapid.Check(t, func(t *rapid.T) {
		e := Entry{PayloadType: rapid.String().Draw(t, "type"),
			Payload:   rapid.SliceOf(rapid.Byte()).Draw(t, "payload"),
			Signature: rapid.SliceOf(rapid.Byte()).Draw(t, "sig")}
		sum := sha256.Sum256(dsse.PAE(e.PayloadType, e.Payload))
		std := base64.StdEncoding.EncodeToString
		want, err := digest.JCS(map[string]any{"apiVersion": "0.0.2", "kind": "hashedrekord",
			"spec": map[string]any{"hashedRekordV002": map[string]any{
				"data": map[string]any{"algorithm": "SHA2_256", "digest": std(sum[:])},
				"signature": map[string]any{"content": std(e.Signature),
					"verifier": map[string]any{"keyDetails": "PKIX_ECDSA_P256_SHA_256",
						"publicKey": map[string]any{"rawBytes": std(key.DER)}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := Leaf(e, key); !bytes.Equal(got, want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

// TestLeafHash is known from RFC 6962: SHA-256 of a zero byte and the leaf.
func TestLeafHash(t *testing.T) {
	if got := Hex(LeafHash(nil)); got != "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d" {
		t.Errorf("got %s", got)
	}
}

func TestKey(t *testing.T) {
	key := public(t)
	again, err := ParseKey(key.PEM())
	must(t, err)
	if again.ID() != key.ID() || again.ID() != digest.SHA256Hex(key.DER) {
		t.Errorf("got %s", again.ID())
	}
	for _, bad := range [][]byte{nil, []byte("x"), append(key.PEM(), key.PEM()...)} {
		if _, err := ParseKey(bad); err == nil {
			t.Errorf("%.30q is a key", bad)
		}
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	must(t, err)
	if _, err := NewKey(&p384.PublicKey); err == nil {
		t.Error("P-384 is taken")
	}
	if _, err := NewKey(nil); err == nil {
		t.Error("no key is taken")
	}
}

func TestSigned(t *testing.T) {
	key, e := public(t), entry(t, 1)
	if !key.Signed(e) {
		t.Fatal("the entry is not signed")
	}
	other := e
	other.PayloadType = "text/plain"
	longer := e
	longer.Payload = append(bytes.Clone(e.Payload), ' ')
	for _, bad := range []Entry{other, longer, {}, {PayloadType: e.PayloadType, Payload: e.Payload}} {
		if key.Signed(bad) {
			t.Errorf("%+v is signed", bad)
		}
	}
}

func TestEntryOf(t *testing.T) {
	env, err := dsse.Sign("t", []byte("p"), statementKey(t))
	must(t, err)
	two := env
	two.Signatures = append(env.Signatures[:1:1], env.Signatures[0])
	named := env
	named.Signatures = []dsse.Signature{{Sig: env.Signatures[0].Sig, KeyID: "x"}}
	loose := env
	loose.Payload += "\n"
	unsigned := env
	unsigned.Signatures = []dsse.Signature{{Sig: "="}}
	for _, bad := range []dsse.Envelope{two, named, loose, unsigned, {}} {
		if e, err := EntryOf(bad); err == nil {
			t.Errorf("%+v is an entry", e)
		}
	}
}

func TestBase64HasOneForm(t *testing.T) {
	for _, bad := range []string{"YQ", "YR==", "YQ==\n", "Y\nQ==", "-_==", "YQ== "} {
		if b, err := translog.Decode64(bad); err == nil {
			t.Errorf("%q is %q", bad, b)
		}
	}
	if b, err := translog.Decode64("YQ=="); err != nil || string(b) != "a" {
		t.Errorf("%q, %v", b, err)
	}
	for _, bad := range []string{"", "01", "+1", "-1", " 1", "1e3", "9223372036854775808"} {
		if n, err := translog.ParseSize(bad); err == nil {
			t.Errorf("%q is %d", bad, n)
		}
	}
}
