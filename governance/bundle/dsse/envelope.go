package dsse

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/assay-run/assay/governance/bundle/field"
)

// MaxSignatures is how many signatures an envelope may have; it has at least one.
const MaxSignatures = 16

// Envelope is a DSSE envelope. Payload and signatures are base64.
type Envelope struct {
	Payload     string      `json:"payload"`
	PayloadType string      `json:"payloadType"`
	Signatures  []Signature `json:"signatures"`
}

// Signature is one signature: ASN.1 DER over the PAE. KeyID is a hint that nobody here
// believes.
type Signature struct {
	Sig   string `json:"sig"`
	KeyID string `json:"keyid,omitempty"`
}

// Signed is an envelope whose base64 has been read. What it says is worth nothing
// before Verify.
type Signed struct {
	Envelope   Envelope
	Payload    []byte
	Signatures [][]byte
}

// PAE is what is signed: "DSSEv1 <len> <type> <len> <payload>", lengths in bytes.
func PAE(payloadType string, payload []byte) []byte {
	b := []byte("DSSEv1 ")
	b = strconv.AppendInt(b, int64(len(payloadType)), 10)
	b = append(append(append(b, ' '), payloadType...), ' ')
	b = strconv.AppendInt(b, int64(len(payload)), 10)
	return append(append(b, ' '), payload...)
}

// Sign makes an envelope with one signature.
func Sign(payloadType string, payload []byte, key *ecdsa.PrivateKey) (Envelope, error) {
	if key == nil || key.Curve != elliptic.P256() {
		return Envelope{}, errors.New("signing needs a P-256 key")
	}
	sum := sha256.Sum256(PAE(payloadType, payload))
	// Without a source of randomness the signature is the one of RFC 6979.
	sig, err := key.Sign(nil, sum[:], crypto.SHA256)
	if err != nil {
		return Envelope{}, fmt.Errorf("sign: %w", err)
	}
	return Envelope{
		Payload: base64.StdEncoding.EncodeToString(payload), PayloadType: payloadType,
		Signatures: []Signature{{Sig: base64.StdEncoding.EncodeToString(sig)}},
	}, nil
}

// Decode reads the text of one envelope strictly.
func Decode(text []byte) (*Signed, *field.Error) {
	v, err := field.Parse(text)
	if err != nil {
		return nil, err
	}
	r := &field.Reader{}
	s := Read(r, v, "")
	return s, r.Err()
}

// Read takes a value of digest.Strict for an envelope. Refusals go to r.
func Read(r *field.Reader, v any, at string) *Signed {
	o := r.Object(v, at, field.Names("payload payloadType signatures"), nil)
	payload, _ := o.Raw("payload").(string)
	s := &Signed{Envelope: Envelope{Payload: payload, PayloadType: o.Text("payloadType")}}
	if s.Payload = readBase64(payload); s.Payload == nil {
		o.Fail(field.InvalidField, "payload", "must be a payload in strict base64")
	}
	n := o.Each("signatures", 0, func(i int, v any, at string) {
		if i >= MaxSignatures {
			return
		}
		one := r.Object(v, at, field.Names("sig"), field.Names("keyid"))
		text := one.Text("sig")
		sig := readBase64(text)
		if sig == nil {
			one.Fail(field.InvalidField, "sig", "must be a signature in strict base64")
		}
		s.Envelope.Signatures = append(s.Envelope.Signatures, Signature{Sig: text, KeyID: one.Text("keyid")})
		s.Signatures = append(s.Signatures, sig)
	})
	if n < 1 || n > MaxSignatures {
		o.Fail(field.InvalidField, "signatures", "must be 1 to %d signatures", MaxSignatures)
	}
	return s
}

// readBase64 is nil unless s is the one spelling of some bytes. Go's strict decoder
// still skips line breaks.
func readBase64(s string) []byte {
	if s == "" || strings.ContainsAny(s, "\r\n") {
		return nil
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil
	}
	return b
}

// PAE is what the envelope's signatures are over.
func (s *Signed) PAE() []byte { return PAE(s.Envelope.PayloadType, s.Payload) }

// Verify tells which of the keys signed, by index and in order. Keys that are nil or of
// another curve sign nothing.
func (s *Signed) Verify(keys ...*ecdsa.PublicKey) []int {
	sum := sha256.Sum256(s.PAE())
	var signers []int
	for i, key := range keys {
		if key == nil || key.Curve != elliptic.P256() {
			continue
		}
		for _, sig := range s.Signatures {
			if ecdsa.VerifyASN1(key, sum[:], sig) {
				signers = append(signers, i)
				break
			}
		}
	}
	return signers
}
