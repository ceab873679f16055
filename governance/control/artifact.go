package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/evidence"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
)

// artifacts is what became of the files that a bundle lists.
type artifacts struct {
	verified []bundle.Subject // read, and equal
	missing  []int            // by index in the bundle
	all      bool             // were all read?
	// evidence is what the files of all runs came to, nil where one is missing.
	evidence []bundle.RunEvidence
}

// readArtifacts reads the artifacts below a folder, from which no link leads out. A file
// that is not there is missing; one that is another is refused.
func readArtifacts(ctx context.Context, folder string, post *bundle.Post) (artifacts, error) {
	found := artifacts{all: true}
	root, err := os.OpenRoot(folder)
	if err != nil { // the folder is away: none of its files is there
		root = nil
	} else {
		defer root.Close()
	}
	for i, a := range post.Bundle.Artifacts {
		if err := ctx.Err(); err != nil {
			return found, err // no client waits for the answer any more
		}
		sum, size, err := hashFile(root, a.Name, a.Size)
		switch {
		case err != nil:
			// Not there, not readable or a way out of the folder: nothing was verified.
			found.all = false
			found.missing = append(found.missing, i)
		case size != a.Size || sum != a.SHA256:
			return found, field.Refuse(bundle.ArtifactMismatch, post.Pointer("/artifacts/"+strconv.Itoa(i)),
				"the file is not the one that the bundle lists")
		default:
			found.verified = append(found.verified, bundle.FileSubject(a.Name, sum))
		}
	}
	found.evidence, err = evidence.Check(&post.Bundle, post.Pointer, func(name, sum string) ([]byte, error) {
		return readFile(root, name, sum)
	})
	if !found.all {
		found.evidence = nil
	}
	return found, err
}

// maxEvidence is how large a file may be that numbers are read from, in bytes.
const maxEvidence = 64 << 20

// readFile reads a file with this hash. One that has another, is too large or is not there is
// missing: those that the bundle lists were held against their hashes before.
func readFile(root *os.Root, name, sum string) ([]byte, error) {
	if root == nil {
		return nil, fs.ErrNotExist
	}
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxEvidence {
		return nil, fs.ErrNotExist
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, fs.ErrNotExist
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxEvidence))
	if err != nil || digest.SHA256Hex(text) != sum {
		return nil, fs.ErrNotExist
	}
	return text, nil
}

// sameRecord reports whether the record of a drill is the one below a folder, where that is there.
func sameRecord(folder string, d *bundle.Drill) bool {
	if folder == "" {
		return true
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return true
	}
	defer root.Close()
	info, err := root.Stat("runs/" + d.RunID + "/" + evidence.MetadataName)
	if err != nil || !info.Mode().IsRegular() {
		return true
	}
	_, err = readFile(root, "runs/"+d.RunID+"/"+evidence.MetadataName, digest.SHA256Hex([]byte(d.Metadata)))
	return err == nil
}

// errNotRegular reports that something is no file.
var errNotRegular = errors.New("not a regular file")

// hashFile reads a file, but nothing of one that has another size than it should.
func hashFile(root *os.Root, name string, want int64) (sum string, size int64, err error) {
	if root == nil {
		return "", 0, fs.ErrNotExist
	}
	info, err := root.Stat(name)
	if err != nil {
		return "", 0, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for a writer
		return "", 0, &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
	}
	if info.Size() != want {
		return "", info.Size(), nil
	}
	f, err := root.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, io.LimitReader(f, want+1))
	return hex.EncodeToString(h.Sum(nil)), size, err
}
