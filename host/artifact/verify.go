package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// MismatchError says in what a folder differs from its metadata.json.
type MismatchError struct {
	RunID string
	// Problems name each file and what is wrong with it.
	Problems []string
}

// Error lists the problems.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("the artifacts of run %s have changed: %s", e.RunID, strings.Join(e.Problems, "; "))
}

// Verify hashes every file of a run's folder again. It returns the metadata with its
// bytes; a *MismatchError when a file is missing, changed or not listed, or when
// metadata.json is not what Encode writes; fs.ErrNotExist when there is none, and another
// error when the folder cannot be read.
func Verify(dir string) (*Metadata, []byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	info, err := root.Lstat(metadataName)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &MismatchError{RunID: filepath.Base(dir), Problems: []string{metadataName + " is not a plain file"}}
	}
	payload, err := root.ReadFile(metadataName)
	if err != nil {
		return nil, nil, err
	}
	m, err := DecodeMetadata(payload)
	if err != nil {
		return nil, nil, &MismatchError{RunID: filepath.Base(dir), Problems: []string{metadataName + " is damaged: " + err.Error()}}
	}
	found, err := listFiles(root)
	if err != nil {
		return nil, nil, err
	}
	if problems := m.compare(root, found); len(problems) > 0 {
		return nil, nil, &MismatchError{RunID: m.RunID, Problems: problems}
	}
	return m, payload, nil
}

func (m *Metadata) compare(root *os.Root, found []string) []string {
	var problems []string
	listed := map[string]bool{}
	for _, want := range m.Artifacts {
		listed[want.Name] = true
		if !fs.ValidPath(want.Name) {
			problems = append(problems, fmt.Sprintf("%q is not a path inside the folder", want.Name))
			continue
		}
		hash, size, err := hashFile(root, want.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			problems = append(problems, want.Name+" is missing")
		case err != nil:
			problems = append(problems, want.Name+": "+err.Error())
		case size != want.Size || hash != want.SHA256:
			problems = append(problems, want.Name+" has other content")
		case want.Name == requestName && hash != m.RequestHash:
			problems = append(problems, requestName+" is not the request of request_hash")
		}
	}
	if !listed[requestName] {
		problems = append(problems, requestName+" is not listed")
	}
	for _, name := range found {
		if !listed[name] && name != metadataName && !strings.HasPrefix(name, capsulesDir+"/") {
			problems = append(problems, name+" is not listed")
		}
	}
	slices.Sort(problems)
	return problems
}

func listFiles(root *os.Root) ([]string, error) {
	var names []string
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path.Clean(name))
		}
		return err
	})
	return names, err
}

func hashFile(root *os.Root, name string) (string, int64, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return "", 0, err
	}
	if !info.Mode().IsRegular() {
		return "", 0, errors.New("is not a plain file")
	}
	f, err := root.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), n, err
}
