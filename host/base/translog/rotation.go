package translog

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
)

// TypeRotation is the predicate type of the statement by which a log changes its keys.
const TypeRotation = dsse.TypeBase + "key-rotation/v1"

// PublicKeys are the keys of a log: of its statements as PEM, of its checkpoints as a verifier key of
// signed notes.
type PublicKeys struct {
	Statement string `json:"statement" is:"free"`
	Log       string `json:"log" is:"filled"`
}

// Rotation is the predicate key-rotation/v1: entries and checkpoints behind this entry are signed with the
// new keys. The old statement key signs the entry and the old log key the checkpoint that ends with it;
// the new keys consent by signing [Rotation.Text].
type Rotation struct {
	Origin  string     `json:"origin" is:"filled"`
	Old     PublicKeys `json:"old"`
	New     PublicKeys `json:"new"`
	Consent struct {
		Statement string `json:"statement" is:"filled"` // ECDSA of the SHA-256, ASN.1 DER, base64
		Log       string `json:"log" is:"filled"`       // Ed25519, base64
	} `json:"consent"`
	RecordedAt string `json:"recorded_at" is:"time"`
}

// Text is what the new keys sign: everything that the statement states about keys.
func (r *Rotation) Text() []byte {
	return fmt.Appendf(nil, "key-rotation/v1\n%s\n%s\n%s\n%s\n%s\n", r.Origin, r.Old.Log, r.New.Log,
		sum(r.Old.Statement), sum(r.New.Statement))
}

func sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// NewRotation is the statement by which a log changes to the keys of two signers: P-256 for statements,
// Ed25519 for checkpoints.
func NewRotation(origin string, old PublicKeys, statement, log crypto.Signer, at string) (*Rotation, error) {
	pem, err := dsse.PublicPEM(statement.Public())
	if err != nil {
		return nil, err
	}
	public, _ := log.Public().(ed25519.PublicKey)
	key, err := NewLogKey(origin, public)
	if err != nil {
		return nil, err
	}
	r := &Rotation{Origin: origin, Old: old, New: PublicKeys{string(pem), key.VKey()}, RecordedAt: at}
	one, err := crypto.SignMessage(statement, rand.Reader, r.Text(), crypto.SHA256)
	if err != nil {
		return nil, err
	}
	two, err := log.Sign(nil, r.Text(), crypto.Hash(0))
	if err != nil {
		return nil, err
	}
	r.Consent.Statement, r.Consent.Log = Encode64(one), Encode64(two)
	_, _, err = r.Keys()
	return r, err
}

// Keys are the new keys. The error reports that they have not consented, or that nothing changes.
func (r *Rotation) Keys() (*ecdsa.PublicKey, LogKey, error) {
	statement, err := dsse.ParseP256([]byte(r.New.Statement))
	if err != nil {
		return nil, LogKey{}, err
	}
	log, err := ParseLogKey(r.New.Log)
	if err != nil {
		return nil, LogKey{}, err
	}
	one, err1 := Decode64(r.Consent.Statement)
	two, err2 := Decode64(r.Consent.Log)
	digest := sha256.Sum256(r.Text())
	switch {
	case log.Origin != r.Origin:
		return nil, LogKey{}, errors.New("the new key is of another log")
	case r.Old.Statement == r.New.Statement || r.Old.Log == r.New.Log:
		return nil, LogKey{}, errors.New("both keys have to change")
	case err1 != nil || !ecdsa.VerifyASN1(statement, digest[:], one):
		return nil, LogKey{}, errors.New("the new statement key has not consented")
	case err2 != nil || !ed25519.Verify(log.Public, r.Text(), two):
		return nil, LogKey{}, errors.New("the new log key has not consented")
	}
	return statement, log, nil
}

// Check implements [field.Checker].
func (r *Rotation) Check(o field.Object) {
	if _, _, err := r.Keys(); err != nil {
		o.Fail(field.InvalidField, "new", "%s", err)
	}
}
