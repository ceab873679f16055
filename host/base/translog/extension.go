package translog

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// MaxExtension bounds the text of an extension, in bytes.
const MaxExtension = 128 << 10

// Extension is a checkpoint with the proof that its log continues the tree of the first Old leaves. Its
// text is the body of add-checkpoint of C2SP tlog-witness, and what a log answers to a holder of an older
// checkpoint.
type Extension struct {
	Old    int64
	Hashes []tlog.Hash
	Note   string
}

// Format is the text of an extension.
func (e Extension) Format() string {
	var out strings.Builder
	out.WriteString("old " + strconv.FormatInt(e.Old, 10) + "\n")
	for _, h := range e.Hashes {
		out.WriteString(h.String() + "\n")
	}
	out.WriteString("\n" + e.Note)
	return out.String()
}

// ParseExtension reads the text of an extension strictly. The note is not opened.
func ParseExtension(text string) (*Extension, error) {
	if len(text) > MaxExtension {
		return nil, fmt.Errorf("an extension has at most %d bytes", MaxExtension)
	}
	head, noteText, found := strings.Cut(text, "\n\n")
	if !found {
		return nil, errors.New("an extension has an empty line before its checkpoint")
	}
	lines := strings.Split(head, "\n")
	digits, is := strings.CutPrefix(lines[0], "old ")
	if !is {
		return nil, errors.New("an extension begins with the line old SIZE")
	}
	old, err := ParseSize(digits)
	if err != nil {
		return nil, fmt.Errorf("old size: %w", err)
	}
	if len(lines)-1 > MaxPath {
		return nil, fmt.Errorf("a consistency proof of %d hashes", len(lines)-1)
	}
	e := &Extension{Old: old, Note: noteText}
	if e.Hashes, err = ParseHashes(lines[1:]); err != nil {
		return nil, fmt.Errorf("consistency proof: %w", err)
	}
	if _, err := PeekCheckpoint(noteText); err != nil {
		return nil, err
	}
	return e, nil
}

// ParseHashes reads the hashes of a proof, each in strict base64.
func ParseHashes(list []string) ([]tlog.Hash, error) {
	if len(list) > MaxPath {
		return nil, fmt.Errorf("a proof of %d hashes", len(list))
	}
	var out []tlog.Hash
	for i, text := range list {
		h, err := ParseHash(text)
		if err != nil {
			return nil, fmt.Errorf("hash %d: %w", i, err)
		}
		out = append(out, h)
	}
	return out, nil
}

// Continues reports why head does not continue a checkpoint that was kept: it is of another log, smaller,
// or has another beginning. Any head continues the empty tree.
func Continues(proof []tlog.Hash, old, head Checkpoint) error {
	switch {
	case old.Origin != head.Origin:
		return fmt.Errorf("%s and %s are two logs", old.Origin, head.Origin)
	case head.Size < old.Size:
		return fmt.Errorf("a tree of %d is older than one of %d", head.Size, old.Size)
	case head.Size == old.Size && head.Root != old.Root:
		return fmt.Errorf("two trees of %d leaves have the roots %s and %s", head.Size, Hex(old.Root),
			Hex(head.Root))
	case old.Size == 0 || head.Size == old.Size:
		if len(proof) > 0 {
			return errors.New("there is nothing to prove between them, and the proof is not empty")
		}
		return nil
	}
	return CheckConsistency(proof, old, head)
}
