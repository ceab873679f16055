package ledger

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// proofHeader begins a proof text.
const proofHeader = "c2sp.org/tlog-proof@v1"

// maxPath is more sibling hashes than any tree has levels.
const maxPath = 63

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
	out.WriteString(proofHeader + "\nindex " + strconv.FormatInt(p.Index, 10) + "\n")
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
	if lines[0] != proofHeader {
		return nil, fmt.Errorf("a tlog-proof begins with %s", proofHeader)
	}
	if len(lines) < 2 {
		return nil, errors.New("the tlog-proof has no index")
	}
	digits, is := strings.CutPrefix(lines[1], "index ")
	if !is {
		return nil, fmt.Errorf("the second line of a tlog-proof is its index, not %q", cut([]byte(lines[1])))
	}
	index, err := parseSize(digits)
	if err != nil {
		return nil, fmt.Errorf("tlog-proof index: %w", err)
	}
	if len(lines)-2 > maxPath {
		return nil, fmt.Errorf("a tlog-proof of %d hashes", len(lines)-2)
	}
	p := &Proof{Index: index, Note: noteText}
	for i, line := range lines[2:] {
		h, err := decodeHash(line)
		if err != nil {
			return nil, fmt.Errorf("tlog-proof hash %d: %w", i, err)
		}
		p.Hashes = append(p.Hashes, h)
	}
	if _, err := peekCheckpoint(noteText); err != nil {
		return nil, fmt.Errorf("tlog-proof: %w", err)
	}
	return p, nil
}
