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
	"github.com/assay-run/assay/governance/bundle/field"
)

// codeArtifact refuses an artifact that is not what the bundle says.
const codeArtifact bundle.Code = "ARTIFACT_HASH_MISMATCH"

// artifacts is what became of the files that a bundle lists.
type artifacts struct {
	verified []bundle.Subject // read, and equal
	missing  []int            // by index in the bundle
	all      bool             // were all read?
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
			return found, err // nobody waits for the answer any more
		}
		sum, size, err := hashFile(root, a.Name, a.Size)
		switch {
		case err != nil:
			// Not there, not readable or a way out of the folder: nothing was verified.
			found.all = false
			found.missing = append(found.missing, i)
		case size != a.Size || sum != a.SHA256:
			return found, field.Refuse(codeArtifact, post.Pointer("/artifacts/"+strconv.Itoa(i)), "the file is not the one that the bundle lists")
		default:
			found.verified = append(found.verified, bundle.FileSubject(a.Name, sum))
		}
	}
	return found, nil
}

// errNotRegular says that something is no file.
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
