package ledger

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
)

// Entry is one statement of the log: a DSSE payload and the one signature over it.
type Entry struct {
	PayloadType string
	Payload     []byte
	Signature   []byte // ECDSA P-256 over SHA-256 of the PAE, ASN.1 DER
}

// EntryOf is the entry of an envelope that the plane has signed: exactly one signature,
// without a key id.
func EntryOf(env dsse.Envelope) (Entry, error) {
	if len(env.Signatures) != 1 || env.Signatures[0].KeyID != "" {
		return Entry{}, errors.New("an entry has one signature and no keyid")
	}
	payload, err := decode64(env.Payload)
	if err != nil {
		return Entry{}, fmt.Errorf("payload: %w", err)
	}
	sig, err := decode64(env.Signatures[0].Sig)
	if err != nil {
		return Entry{}, fmt.Errorf("sig: %w", err)
	}
	return Entry{PayloadType: env.PayloadType, Payload: payload, Signature: sig}, nil
}

// Digest is the SHA-256 of the entry's PAE.
func (e Entry) Digest() [sha256.Size]byte { return sha256.Sum256(dsse.PAE(e.PayloadType, e.Payload)) }

// Key is the public key of statements: P-256, with its SubjectPublicKeyInfo.
type Key struct {
	Public *ecdsa.PublicKey
	DER    []byte
}

// NewKey is a key with its DER form. The error reports that it is not on P-256.
func NewKey(public *ecdsa.PublicKey) (*Key, error) {
	if public == nil || public.Curve != elliptic.P256() {
		return nil, errors.New("the statement key is not a P-256 key")
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, err
	}
	return &Key{Public: public, DER: der}, nil
}

// ParseKey reads governance.pub: one PEM block with a P-256 key in its only DER form.
func ParseKey(text []byte) (*Key, error) {
	public, err := dsse.ParseP256(text)
	if err != nil {
		return nil, err
	}
	return NewKey(public)
}

// PEM is the key as governance.pub holds it.
func (k *Key) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: k.DER})
}

// ID is the SHA-256 of the DER form in lower-case hex.
func (k *Key) ID() string {
	sum := sha256.Sum256(k.DER)
	return hex.EncodeToString(sum[:])
}

// hint is the key's id as a Sigstore bundle writes it.
func (k *Key) hint() string {
	sum := sha256.Sum256(k.DER)
	return encode64(sum[:])
}

// Signed reports whether the key made the entry's signature.
func (k *Key) Signed(e Entry) bool {
	sum := e.Digest()
	return ecdsa.VerifyASN1(k.Public, sum[:], e.Signature)
}

// Leaf is the text of an entry's leaf: the canonical JSON of the Rekor v2 log entry
// hashedrekord 0.0.2 that says who signed what with which signature. The data digest is
// that of the PAE, as rekor-tiles and sigstore-go have it for DSSE envelopes.
func Leaf(e Entry, key *Key) []byte {
	sum := e.Digest()
	// Written in the order that RFC 8785 sorts to; base64 needs no escapes.
	out := make([]byte, 0, 480)
	out = append(out, `{"apiVersion":"`+entryVersion+`","kind":"`+entryKind+`","spec":{"hashedRekordV002":{"data":{"algorithm":"SHA2_256","digest":"`...)
	out = base64.StdEncoding.AppendEncode(out, sum[:])
	out = append(out, `"},"signature":{"content":"`...)
	out = base64.StdEncoding.AppendEncode(out, e.Signature)
	out = append(out, `","verifier":{"keyDetails":"`+statementKeyDetails+`","publicKey":{"rawBytes":"`...)
	out = base64.StdEncoding.AppendEncode(out, key.DER)
	return append(out, `"}}}}}}`...)
}

// LeafHash is the hash that stands for a leaf in the tree: SHA-256(0x00 || leaf), RFC
// 6962 section 2.1. leaf_sha256 and leaf_hash are this, not the plain SHA-256.
func LeafHash(leaf []byte) tlog.Hash { return tlog.RecordHash(leaf) }

// What a Rekor v2 entry of ours says about itself.
const (
	entryKind           = "hashedrekord"
	entryVersion        = "0.0.2"
	statementKeyDetails = "PKIX_ECDSA_P256_SHA_256"
)

func encode64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// decode64 reads standard base64 in its only form: the decoder of the library ignores
// line ends and the bits that padding leaves over, which would let one value be written
// in several ways.
func decode64(s string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, errors.New("not base64")
	}
	if encode64(b) != s {
		return nil, errors.New("not canonical base64")
	}
	return b, nil
}

// decodeHash reads a hash of 32 bytes in strict base64.
func decodeHash(s string) (tlog.Hash, error) {
	b, err := decode64(s)
	if err != nil {
		return tlog.Hash{}, err
	}
	if len(b) != tlog.HashSize {
		return tlog.Hash{}, fmt.Errorf("%d bytes, not a hash of %d", len(b), tlog.HashSize)
	}
	return tlog.Hash(b), nil
}

// parseHex reads a hash in lower-case hex.
func parseHex(s string) (tlog.Hash, error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != tlog.HashSize || hex.EncodeToString(b) != s {
		return tlog.Hash{}, errors.New("not a SHA-256 in lower-case hex")
	}
	return tlog.Hash(b), nil
}

// Hex is a hash as seals and tables write it.
func Hex(h tlog.Hash) string { return hex.EncodeToString(h[:]) }

// parseSize reads a count: decimal digits without sign and leading zeroes, below 2^63.
func parseSize(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, fmt.Errorf("%q is not a count in plain decimals", s)
	}
	return n, nil
}

// decodeExact reads one JSON document into v and demands that v is all of it: the text
// is read strictly, and its canonical form is what v marshals to, so that nothing is
// missing, added, null or written in another type.
func decodeExact(text []byte, v any) error {
	tree, refused := field.Parse(text)
	if refused != nil {
		return refused
	}
	canonical := digest.Tree(tree)
	if err := json.Unmarshal(canonical, v, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	again, err := digest.JCS(v)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, canonical) {
		return fmt.Errorf("the document is not of the form that is expected: %s", firstDifference(again, canonical))
	}
	return nil
}

// firstDifference shows where two texts part.
func firstDifference(want, got []byte) string {
	i := 0
	for i < len(want) && i < len(got) && want[i] == got[i] {
		i++
	}
	from := max(0, i-20)
	return fmt.Sprintf("at byte %d expected %q, found %q", i, cut(want[from:]), cut(got[from:]))
}

func cut(b []byte) string { return string(b[:min(len(b), 48)]) }
