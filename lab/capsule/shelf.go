package capsule

import (
	"errors"
	"maps"
	"slices"

	"github.com/assay-run/assay/host/base/digest"
)

// Folder is where the capsules of a run are, inside the folder of the run.
const Folder = "capsules"

// FileName is the name of a capsule's file.
func (c *Capsule) FileName() string { return c.ID + ".json" }

// ErrFull says that a run has as many capsules as it may have.
var ErrFull = errors.New("the run has its 20 failure capsules already")

// Shelve puts a sealed capsule to those that its run has, by file name. A failure that
// is there already, by its fingerprint, is only counted: the capsule that comes back
// is the first one then, unless that had to be a bare one. The error is ErrFull when
// there are MaxPerRun others; files that are no capsules do not count.
func Shelve(shelf map[string][]byte, c *Capsule) (*Capsule, error) {
	others := 0
	for _, name := range slices.Sorted(maps.Keys(shelf)) {
		old, err := Decode(shelf[name])
		if err != nil || old.FileName() != name {
			continue
		}
		if old.Fingerprint != c.Fingerprint {
			others++
			continue
		}
		if old.isBare() && old.ID == c.ID {
			c.Count += old.Count
			return c, nil
		}
		old.Count += c.Count
		return old, nil
	}
	if others >= MaxPerRun {
		return nil, ErrFull
	}
	return c, nil
}

// NoteOf is what a report says about a capsule with this content.
func NoteOf(c *Capsule, content []byte) *Note {
	return &Note{
		CapsuleID: c.ID, Path: Folder + "/" + c.FileName(), SHA256: digest.SHA256Hex(content), Kind: c.Kind, Where: c.Where, Claim: c.Claim,
	}
}
