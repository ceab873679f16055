package deploy

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"errors"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/translog"
)

// Rotation is a change of the keys of a control plane's log, for a host that has pinned earlier ones.
type Rotation struct {
	// Entry is the statement about the change, signed by the old key that signs statements.
	Entry dsse.Envelope `json:"entry"`
	// TlogProof is a C2SP tlog-proof of the entry in the last checkpoint of the old log key, with the
	// cosignatures of witnesses.
	TlogProof string `json:"tlog_proof"`
	// Inclusion are the hashes in base64 that lead from the entry to the checkpoint of the answer.
	Inclusion []string `json:"inclusion"`
}

// maxRotations bounds how often a log changes its keys.
const maxRotations = 1000

// rotated is a change of keys that both have signed.
type rotated struct {
	stated    *translog.Rotation
	leaf      tlog.Hash
	proof     string
	inclusion []string
	key       *ecdsa.PublicKey // the new one
	log       translog.LogKey  // the new one
}

// rotationsOf follows the changes of keys of an answer from the pinned key on; those before it are passed
// over. Whether the log has them is not asked here.
func rotationsOf(outer map[string]any, pinned *ecdsa.PublicKey) ([]rotated, error) {
	if outer["key_rotations"] == nil || pinned == nil {
		return nil, nil
	}
	var list []rotated
	r := &field.Reader{Lax: true}
	key := pinned
	r.Object(outer, "", nil, nil).Each("key_rotations", maxRotations, func(_ int, v any, at string) {
		o := r.Object(v, at, nil, nil)
		one := rotated{proof: o.Form("free", "tlog_proof"),
			inclusion: o.Texts("inclusion", translog.MaxPath, nil)}
		env := readEnvelope(r, o.Open("entry"))
		if r.Failed() {
			return
		}
		if found, err := one.read(env, key); err != nil {
			o.Fail(field.InvalidField, "entry", "%s", err)
		} else if found {
			list, key = append(list, one), one.key
		}
	})
	if r.Failed() {
		return nil, r.Err()
	}
	return list, nil
}

// read reads the statement; found is false where it is about other keys than this one.
func (c *rotated) read(env dsse.Envelope, key *ecdsa.PublicKey) (found bool, err error) {
	payload := dsse.Base64(env.Payload)
	v, refused := field.Parse(payload)
	if refused != nil {
		return false, refused
	}
	r := &field.Reader{Lax: true}
	o := r.Object(v, "", nil, nil)
	if o.Text("predicateType") != translog.TypeRotation || env.PayloadType != payloadInToto {
		return false, errors.New("it is not a change of keys")
	}
	c.stated = &translog.Rotation{}
	if r.Struct(o.Raw("predicate"), "/predicate", c.stated); r.Failed() {
		return false, r.Err()
	}
	pem, err := dsse.PublicPEM(key)
	if err != nil || c.stated.Old.Statement != string(pem) {
		return false, err
	}
	signed := dsse.Signed{Envelope: dsse.Envelope{PayloadType: payloadInToto}, Payload: payload}
	if len(env.Signatures) != 1 {
		return false, errors.New("it has not one signature")
	}
	sig := dsse.Base64(env.Signatures[0].Sig)
	signed.Signatures = [][]byte{sig}
	if sig == nil || len(signed.Verify(key)) == 0 {
		return false, errors.New("the key that it replaces has not signed it")
	}
	if c.key, c.log, err = c.stated.Keys(); err != nil {
		return false, err
	}
	der, err := dsse.PublicDER(key)
	if err != nil {
		return false, err
	}
	sum := sha256.Sum256(signed.PAE())
	c.leaf = translog.LeafHash(translog.Leaf(sum, sig, der))
	return true, nil
}

// prove checks that the log has the change: as the last entry of a checkpoint that the old key has signed
// and enough witnesses have cosigned, and at the same place of the checkpoint of the answer.
func (c *rotated) prove(at translog.Checkpoint, witnesses translog.Quorum) error {
	old, err := translog.ParseLogKey(c.stated.Old.Log)
	if err != nil {
		return unproven(reasonOtherLog, "the change of keys names no log: %v", err)
	}
	p, err := translog.ParseProof(c.proof)
	if err != nil {
		return unproven(reasonNotInLog, "the change of keys: %v", err)
	}
	then, err := translog.OpenCheckpoint(p.Note, old)
	if err != nil {
		return unproven(reasonNotInLog, "the old key of the log has not signed the change of keys: %v", err)
	}
	if err := witnesses.Check(p.Note, old); err != nil {
		return unproven(reasonUnwitnessed, "the change of keys: %v", err)
	}
	hashes, err := translog.ParseHashes(c.inclusion)
	if err != nil {
		return unproven(reasonNotInLog, "the change of keys: %v", err)
	}
	if p.Index != then.Size-1 || translog.CheckInclusion(p.Hashes, *then, p.Index, c.leaf) != nil ||
		translog.CheckInclusion(hashes, at, p.Index, c.leaf) != nil {
		return unproven(reasonNotInLog, "the log does not have the change of keys")
	}
	return nil
}

// leads reports whether changes of keys lead from one log key to another.
func leads(list []rotated, from, to string) bool {
	for _, c := range list {
		if from == to {
			break
		}
		if c.stated.Old.Log == from {
			from = c.stated.New.Log
		}
	}
	return from == to
}
