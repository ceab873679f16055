package translog

import (
	"errors"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
)

const schemaKept = "log-memory/v1"

// Kept is the last checkpoint of a log that a host or a witness has accepted: the document that it keeps.
type Kept struct {
	Schema string `json:"schema"`
	Origin string `json:"origin" is:"filled"`
	Key    string `json:"log_key" is:"filled"`
	Size   int64  `json:"size" min:"1"`
	Root   string `json:"root_sha256" is:"sha256"`
	// Note is the signed checkpoint: what shows to others which log was seen.
	Note string `json:"checkpoint" is:"free"`
}

// Keep is the document of a checkpoint whose note a key of a log has signed.
func Keep(c Checkpoint, key LogKey, noteText string) *Kept {
	return &Kept{Schema: schemaKept, Origin: c.Origin, Key: key.VKey(), Size: c.Size, Root: Hex(c.Root),
		Note: noteText}
}

// Checkpoint is the one that is kept.
func (k *Kept) Checkpoint() (Checkpoint, error) {
	root, err := ParseHex(k.Root)
	return Checkpoint{Origin: k.Origin, Size: k.Size, Root: root}, err
}

// Encode is the canonical JSON of the document.
func (k *Kept) Encode() ([]byte, error) { return digest.JCS(k) }

// ParseKept reads the document. Its note must be signed, and be the checkpoint that it names.
func ParseKept(text []byte) (*Kept, error) {
	v, refused := field.Parse(text)
	if refused != nil {
		return nil, refused
	}
	k, r := &Kept{}, &field.Reader{}
	r.Struct(v, "", k).Schema("schema", schemaKept)
	if r.Failed() {
		return nil, r.Err()
	}
	key, err := ParseLogKey(k.Key)
	if err != nil {
		return nil, err
	}
	signed, err := OpenCheckpoint(k.Note, key)
	if err != nil {
		return nil, err
	}
	if kept, err := k.Checkpoint(); err != nil || *signed != kept {
		return nil, errors.New("its checkpoint is not the one that it names")
	}
	return k, nil
}
