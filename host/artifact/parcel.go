package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/assay-run/assay/host/base/digest"
)

// Parcel is every file of a stored run by name, capsules included.
func (s *Store) Parcel(runID string) (map[string][]byte, error) {
	files := map[string][]byte{}
	root, err := os.OpenRoot(s.Dir(runID))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[name], err = root.ReadFile(name)
		return err
	})
	return files, err
}

// Receive puts a run that was made elsewhere in its place, as Replace does with one that was made here, after
// every file was hashed. The error is a *MismatchError where metadata.json does not speak of these files and
// of this run.
func (s *Store) Receive(runID string, files map[string][]byte) (*Written, error) {
	if !runIDForm.MatchString(runID) {
		return nil, fmt.Errorf("run id %q is not of the form %s", runID, runIDForm)
	}
	if err := s.Rescue(runID); err != nil {
		return nil, err
	}
	earlier, err := s.Capsules(runID)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(files)
	for name, content := range earlier {
		if _, has := all[capsulesDir+"/"+name]; !has {
			all[capsulesDir+"/"+name] = content
		}
	}
	st, err := newStage(s.root, runID, s.checkpoint)
	if err != nil {
		return nil, err
	}
	w, err := st.receive(runID, all)
	if err == nil {
		err = st.publish(runID, s.Discard)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("artifacts of %s: %w", runID, err), st.removeFolder())
	}
	return w, nil
}

func (s *stage) receive(runID string, files map[string][]byte) (*Written, error) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name {
			return nil, &MismatchError{RunID: runID,
				Problems: []string{fmt.Sprintf("%q is not a path inside the folder", name)}}
		}
		if err := s.writeBytes(name, "", files[name]); err != nil {
			return nil, err
		}
	}
	m, payload, err := Verify(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &MismatchError{RunID: runID, Problems: []string{"metadata.json is missing"}}
	}
	if err != nil {
		return nil, err
	}
	if m.RunID != runID {
		return nil, &MismatchError{RunID: runID, Problems: []string{"the files are those of " + m.RunID}}
	}
	report, err := ReadReport(s.dir)
	if err != nil {
		return nil, err
	}
	return &Written{Report: report, Metadata: m, Payload: payload}, nil
}

// Unpack is Receive for a run whose folder is not kept: the files are hashed, and nothing is written.
func Unpack(runID string, files map[string][]byte) (*Written, error) {
	mismatch := func(format string, args ...any) (*Written, error) {
		return nil, &MismatchError{RunID: runID, Problems: []string{fmt.Sprintf(format, args...)}}
	}
	w := &Written{Report: &Report{}, Payload: files[metadataName], JSON: map[string][]byte{}}
	m, err := DecodeMetadata(w.Payload)
	if err != nil {
		return mismatch("metadata.json is damaged: %v", err)
	}
	if m.RunID != runID {
		return mismatch("the files are those of %s", m.RunID)
	}
	listed := map[string]bool{metadataName: true}
	for _, f := range m.Artifacts {
		text, has := files[f.Name]
		if !has || int64(len(text)) != f.Size || digest.SHA256Hex(text) != f.SHA256 {
			return mismatch("%s is missing or has other content", f.Name)
		}
		listed[f.Name] = true
		if f.MediaType == mediaJSON || judged(f.Name) {
			w.JSON[f.Name] = text
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !listed[name] {
			return mismatch("%s is not listed", name)
		}
	}
	if digest.SHA256Hex(files[requestName]) != m.RequestHash {
		return mismatch("request.json is not the request of request_hash")
	}
	if err := json.Unmarshal(files["report.json"], w.Report); err != nil {
		return mismatch("report.json: %v", err)
	}
	w.Metadata = m
	return w, nil
}
