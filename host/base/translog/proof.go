package translog

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// CheckInclusion reports whether the proof leads from a leaf hash to a checkpoint's root.
func CheckInclusion(proof []tlog.Hash, head Checkpoint, index int64, leaf tlog.Hash) error {
	if index < 0 || index >= head.Size {
		return fmt.Errorf("index %d is outside of a tree of %d", index, head.Size)
	}
	return tlog.CheckRecord(proof, head.Size, head.Root, index, leaf)
}

// CheckConsistency reports whether the proof shows that head continues old.
func CheckConsistency(proof []tlog.Hash, old, head Checkpoint) error {
	if old.Origin != head.Origin {
		return fmt.Errorf("%s and %s are two logs", old.Origin, head.Origin)
	}
	if old.Size < 1 || old.Size > head.Size {
		return fmt.Errorf("a tree of %d does not continue one of %d", head.Size, old.Size)
	}
	return tlog.CheckTree(proof, head.Size, head.Root, old.Size, old.Root)
}

// ProofHeader begins a proof text.
const ProofHeader = "c2sp.org/tlog-proof@v1"

// MaxPath is more sibling hashes than any tree has levels.
const MaxPath = 63

// Proof is a C2SP tlog-proof: an index, the sibling hashes from the leaf up, and the
// note of the checkpoint that they lead to. It proves a leaf that its reader computes.
type Proof struct {
	Index  int64
	Hashes []tlog.Hash
	Note   string
}

// Format is the text of a proof. It has no extra line: nothing would authenticate it.
func (p Proof) Format() string {
	var out strings.Builder
	out.WriteString(ProofHeader + "\nindex " + strconv.FormatInt(p.Index, 10) + "\n")
	for _, h := range p.Hashes {
		out.WriteString(h.String() + "\n")
	}
	out.WriteString("\n" + p.Note)
	return out.String()
}

// ParseProof reads a proof text strictly: what is accepted is what Format writes. The
// note is not opened, see OpenCheckpoint.
func ParseProof(text string) (*Proof, error) {
	head, noteText, found := strings.Cut(text, "\n\n")
	if !found {
		return nil, errors.New("a tlog-proof has an empty line before its checkpoint")
	}
	lines := strings.Split(head, "\n")
	if lines[0] != ProofHeader {
		return nil, fmt.Errorf("a tlog-proof begins with %s", ProofHeader)
	}
	if len(lines) < 2 {
		return nil, errors.New("the tlog-proof has no index")
	}
	digits, is := strings.CutPrefix(lines[1], "index ")
	if !is {
		return nil, fmt.Errorf("the second line of a tlog-proof is its index, not %q",
			lines[1][:min(len(lines[1]), 48)])
	}
	index, err := ParseSize(digits)
	if err != nil {
		return nil, fmt.Errorf("tlog-proof index: %w", err)
	}
	if len(lines)-2 > MaxPath {
		return nil, fmt.Errorf("a tlog-proof of %d hashes", len(lines)-2)
	}
	p := &Proof{Index: index, Note: noteText}
	if p.Hashes, err = ParseHashes(lines[2:]); err != nil {
		return nil, fmt.Errorf("tlog-proof: %w", err)
	}
	if _, err := PeekCheckpoint(noteText); err != nil {
		return nil, fmt.Errorf("tlog-proof: %w", err)
	}
	return p, nil
}

// Leaf is the text of a leaf: the canonical JSON of the Rekor v2 log entry hashedrekord 0.0.2, which
// names who signed what with which signature. The digest is that of the signed PAE, as rekor-tiles and
// sigstore-go have it for DSSE envelopes; key is the DER form of the P-256 key.
func Leaf(digest [sha256.Size]byte, signature, key []byte) []byte {
	// Written in the order that RFC 8785 sorts to; base64 needs no escapes.
	out := make([]byte, 0, 480)
	out = append(out,
		`{"apiVersion":"`+EntryVersion+`","kind":"`+EntryKind+
			`","spec":{"hashedRekordV002":{"data":{"algorithm":"SHA2_256","digest":"`...)
	out = base64.StdEncoding.AppendEncode(out, digest[:])
	out = append(out, `"},"signature":{"content":"`...)
	out = base64.StdEncoding.AppendEncode(out, signature)
	out = append(out, `","verifier":{"keyDetails":"PKIX_ECDSA_P256_SHA_256","publicKey":{"rawBytes":"`...)
	out = base64.StdEncoding.AppendEncode(out, key)
	return append(out, `"}}}}}}`...)
}

// LeafHash is the hash that stands for a leaf in the tree: SHA-256(0x00 || leaf), RFC
// 6962 section 2.1.
func LeafHash(leaf []byte) tlog.Hash { return tlog.RecordHash(leaf) }

// EntryKind and EntryVersion are the type of the Rekor entries that leaves are.
const (
	EntryKind    = "hashedrekord"
	EntryVersion = "0.0.2"
)

// Encode64 writes standard base64.
func Encode64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// Decode64 reads standard base64 in its only form: the decoder of the library ignores
// line ends and the bits that padding leaves over, which would let one value be written
// in several ways.
func Decode64(s string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, errors.New("not base64")
	}
	if Encode64(b) != s {
		return nil, errors.New("not canonical base64")
	}
	return b, nil
}

// ParseHash reads a hash of 32 bytes in strict base64.
func ParseHash(s string) (tlog.Hash, error) {
	b, err := Decode64(s)
	if err != nil {
		return tlog.Hash{}, err
	}
	if len(b) != tlog.HashSize {
		return tlog.Hash{}, fmt.Errorf("%d bytes, not a hash of %d", len(b), tlog.HashSize)
	}
	return tlog.Hash(b), nil
}

// ParseHex reads a hash in lower-case hex.
func ParseHex(s string) (tlog.Hash, error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != tlog.HashSize || hex.EncodeToString(b) != s {
		return tlog.Hash{}, errors.New("not a SHA-256 in lower-case hex")
	}
	return tlog.Hash(b), nil
}

// Hex is a hash as seals and tables write it.
func Hex(h tlog.Hash) string { return hex.EncodeToString(h[:]) }

// ParseSize reads a count: decimal digits without sign and leading zeroes, below 2^63.
func ParseSize(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, fmt.Errorf("%q is not a count in plain decimals", s)
	}
	return n, nil
}
