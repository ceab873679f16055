// Package translog is the public side of a transparency log: signed checkpoints and the cosignatures of
// witnesses over them (C2SP signed-note, tlog-checkpoint, tlog-cosignature), what a leaf is, and the
// proofs that a leaf is in a tree and that one tree continues another (RFC 6962, C2SP tlog-proof).
//
// It is what the log, its witnesses, its verifiers and the hosts that rely on it share. Nothing here reads
// a clock, a file or the network, and nothing of a note counts before a known key has verified it.
package translog

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint is the head of a tree that a log signs: who, how many leaves, which root.
// Two notes are the same checkpoint when these three are equal: the text of a note has
// several forms, because its readers accept base64 that is not canonical.
type Checkpoint struct {
	Origin string
	Size   int64
	Root   tlog.Hash
}

// Text is the signed text: three lines, no extension.
func (c Checkpoint) Text() string { return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.Size, c.Root) }

// String is size and root.
func (c Checkpoint) String() string {
	return fmt.Sprintf("%s size %d root %s", c.Origin, c.Size, Hex(c.Root))
}

var originLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// ValidOrigin reports whether a name can be a log's origin: a DNS name in lower case
// without port, because Sigstore takes the host name of the trusted root's baseUrl for
// it.
func ValidOrigin(origin string) bool {
	if origin == "" || len(origin) > 253 {
		return false
	}
	for label := range strings.SplitSeq(origin, ".") {
		if !originLabel.MatchString(label) {
			return false
		}
	}
	return true
}

// algEd25519 is the signature type of Ed25519 in C2SP signed notes.
const algEd25519 = 1

// LogKey is the public key of a log with its origin. It is a note.Verifier.
type LogKey struct {
	Origin string
	Public ed25519.PublicKey
}

// NewLogKey checks origin and key.
func NewLogKey(origin string, public ed25519.PublicKey) (LogKey, error) {
	if !ValidOrigin(origin) {
		return LogKey{}, fmt.Errorf("log origin %q is not a DNS name in lower case", origin)
	}
	if len(public) != ed25519.PublicKeySize {
		return LogKey{}, errors.New("the log key is not an Ed25519 key")
	}
	return LogKey{Origin: origin, Public: public}, nil
}

// ID is the full key id: SHA-256(origin || "\n" || 0x01 || key), C2SP signed-note.
func (k LogKey) ID() [sha256.Size]byte {
	text := append([]byte(k.Origin), '\n', algEd25519)
	return sha256.Sum256(append(text, k.Public...))
}

// Name is the origin.
func (k LogKey) Name() string { return k.Origin }

// KeyHash is the first four bytes of the id.
func (k LogKey) KeyHash() uint32 {
	id := k.ID()
	return binary.BigEndian.Uint32(id[:])
}

// Verify reports whether sig is the key's signature of msg.
func (k LogKey) Verify(msg, sig []byte) bool { return ed25519.Verify(k.Public, msg, sig) }

// VKey is the verifier key as log.vkey holds it, without a line end.
func (k LogKey) VKey() string {
	return fmt.Sprintf("%s+%08x+%s", k.Origin, k.KeyHash(), Encode64(append([]byte{algEd25519}, k.Public...)))
}

// ParseLogKey reads the verifier key of a log as log.vkey holds it.
func ParseLogKey(text string) (LogKey, error) {
	origin, hash, raw, err := cutVKey(text)
	if err != nil {
		return LogKey{}, err
	}
	if len(raw) != 1+ed25519.PublicKeySize || raw[0] != algEd25519 {
		return LogKey{}, errors.New("the verifier key is not an Ed25519 key of a log")
	}
	key, err := NewLogKey(origin, raw[1:])
	if err != nil {
		return LogKey{}, err
	}
	if want := fmt.Sprintf("%08x", key.KeyHash()); hash != want {
		return LogKey{}, fmt.Errorf("the hash of the verifier key is %.16q, of its key it is %s", hash, want)
	}
	return key, nil
}

// logSigner is a note.Signer.
type logSigner struct {
	LogKey
	private crypto.Signer
}

// Sign makes an Ed25519 signature.
func (s logSigner) Sign(msg []byte) ([]byte, error) {
	return s.private.Sign(nil, msg, crypto.Hash(0))
}

// SignCheckpoint is the signed note of a checkpoint. The same head with the same key is
// the same note. The key is an Ed25519 key, in memory or held elsewhere.
func SignCheckpoint(c Checkpoint, private crypto.Signer) (string, error) {
	public, _ := private.Public().(ed25519.PublicKey)
	key, err := NewLogKey(c.Origin, public)
	if err != nil {
		return "", err
	}
	text, err := note.Sign(&note.Note{Text: c.Text()}, logSigner{key, private})
	return string(text), err
}

// maxNote bounds a note: a checkpoint with some cosignatures is far smaller.
const maxNote = 1 << 16

// OpenCheckpoint is the checkpoint of a note that one of the keys signed. The key's name
// must be the origin that the note claims; further signatures by unknown keys are
// ignored, as C2SP demands. The error reports what is wrong; nothing of the note is to be
// believed then.
func OpenCheckpoint(text string, keys ...LogKey) (*Checkpoint, error) {
	n, err := openNote(text, keys)
	if err != nil {
		return nil, err
	}
	c, err := parseCheckpointText(n.Text)
	if err != nil {
		return nil, err
	}
	for _, sig := range n.Sigs {
		if sig.Name == c.Origin {
			return c, nil
		}
	}
	return nil, fmt.Errorf("the note of %s is signed by %s", c.Origin, n.Sigs[0].Name)
}

// openNote reads a note and verifies the signatures of the keys.
func openNote[K note.Verifier](text string, keys []K) (*note.Note, error) {
	if len(text) > maxNote {
		return nil, errors.New("the note is too long for a checkpoint")
	}
	known := make([]note.Verifier, len(keys))
	for i, k := range keys {
		known[i] = k
	}
	return note.Open([]byte(text), note.VerifierList(known...))
}

// parseCheckpointText reads the three lines.
func parseCheckpointText(text string) (*Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[3] != "" {
		return nil, errors.New("a checkpoint has three lines: origin, size, root")
	}
	if !ValidOrigin(lines[0]) {
		return nil, fmt.Errorf("checkpoint origin %q is not a DNS name", lines[0])
	}
	size, err := ParseSize(lines[1])
	if err != nil {
		return nil, fmt.Errorf("checkpoint size: %w", err)
	}
	root, err := ParseHash(lines[2])
	if err != nil {
		return nil, fmt.Errorf("checkpoint root: %w", err)
	}
	return &Checkpoint{Origin: lines[0], Size: size, Root: root}, nil
}

// PeekCheckpoint reads a note's text without believing it: to report what was found where
// a signature does not verify.
func PeekCheckpoint(noteText string) (*Checkpoint, error) {
	_, err := note.Open([]byte(noteText), nil)
	var unverified *note.UnverifiedNoteError
	if !errors.As(err, &unverified) {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return parseCheckpointText(unverified.Note.Text)
}

// SoleNote is a note with the signature of its log alone: what others have put under it is left out.
func SoleNote(noteText string, key LogKey) (string, error) {
	n, err := note.Open([]byte(noteText), note.VerifierList(key))
	if err != nil {
		return "", err
	}
	text, err := note.Sign(&note.Note{Text: n.Text, Sigs: n.Sigs})
	return string(text), err
}

// IsNote reports whether a text is the one note of a checkpoint with one signature of its log, each byte of
// it: nothing about a note that was kept may be changed.
func IsNote(noteText string, c Checkpoint, key LogKey) bool {
	line, ok := strings.CutPrefix(noteText, c.Text()+"\n"+sigPrefix+key.Origin+" ")
	if !ok {
		return false
	}
	blob, err := Decode64(strings.TrimSuffix(line, "\n"))
	if err != nil || !strings.HasSuffix(line, "\n") || len(blob) != 4+ed25519.SignatureSize {
		return false
	}
	return binary.BigEndian.Uint32(blob) == key.KeyHash() && key.Verify([]byte(c.Text()), blob[4:])
}
