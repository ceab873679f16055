// Package dsse signs and checks DSSE envelopes with ECDSA P-256, and keeps keys in files.
//
// What is signed is the pre-authentication encoding (PAE) of payload type and payload, so that
// bytes signed as one thing cannot be shown as another. A signature depends on key and message
// alone (RFC 6979), so that the same statement always makes the same envelope. Base64 is read
// strictly: each payload and signature has one spelling.
package dsse

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// MaxSignatures is how many signatures an envelope may have; it has at least one.
const MaxSignatures = 16

// Envelope is a DSSE envelope. Payload and signatures are base64.
type Envelope struct {
	Payload     string      `json:"payload"`
	PayloadType string      `json:"payloadType"`
	Signatures  []Signature `json:"signatures"`
}

// Signature is one signature: ASN.1 DER over the PAE. KeyID is a hint that is never believed.
type Signature struct {
	Sig   string `json:"sig"`
	KeyID string `json:"keyid,omitempty"`
}

// Signed is an envelope whose base64 has been read. Its payload is worth nothing before
// [Signed.Verify].
type Signed struct {
	Envelope   Envelope
	Payload    []byte
	Signatures [][]byte
}

// PAE returns what is signed: "DSSEv1 <len> <type> <len> <payload>", lengths in bytes.
func PAE(payloadType string, payload []byte) []byte {
	b := []byte("DSSEv1 ")
	b = strconv.AppendInt(b, int64(len(payloadType)), 10)
	b = append(append(append(b, ' '), payloadType...), ' ')
	b = strconv.AppendInt(b, int64(len(payload)), 10)
	return append(append(b, ' '), payload...)
}

// Sign makes an envelope with one signature. The key may be held elsewhere, by a token or a service.
func Sign(payloadType string, payload []byte, key crypto.Signer) (Envelope, error) {
	own, is := key.(*ecdsa.PrivateKey)
	if key == nil || is && own == nil {
		return Envelope{}, errors.New("signing needs a P-256 key")
	}
	if public, ok := key.Public().(*ecdsa.PublicKey); !ok || public.Curve != elliptic.P256() {
		return Envelope{}, errors.New("signing needs a P-256 key")
	}
	var source io.Reader
	if !is {
		source = rand.Reader
	}
	// Without a source of randomness the signature is the one of RFC 6979.
	sig, err := crypto.SignMessage(key, source, PAE(payloadType, payload), crypto.SHA256)
	if err != nil {
		return Envelope{}, fmt.Errorf("sign: %w", err)
	}
	return Envelope{
		Payload: base64.StdEncoding.EncodeToString(payload), PayloadType: payloadType,
		Signatures: []Signature{{Sig: base64.StdEncoding.EncodeToString(sig)}},
	}, nil
}

// Base64 reads the one spelling of some bytes; it returns nil for any other. Go's strict
// decoder still skips line breaks.
func Base64(s string) []byte {
	if s == "" || strings.ContainsAny(s, "\r\n") {
		return nil
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil
	}
	return b
}

// PAE returns what the envelope's signatures are over.
func (s *Signed) PAE() []byte { return PAE(s.Envelope.PayloadType, s.Payload) }

// Verify returns the keys that signed, by index and in order. Keys that are nil or of another
// curve sign nothing.
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
