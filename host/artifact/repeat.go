package artifact

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/base/file"
)

// ReadReport reads report.json of a run's folder.
func ReadReport(dir string) (*Report, error) {
	rep := &Report{}
	return rep, readJSON(filepath.Join(dir, "report.json"), rep)
}

// ReadLocked reads the locked metrics of a split. Whoever shows them notes that in the
// registry first. The error is fs.ErrNotExist when the split is not locked.
func ReadLocked(dir, splitID string) (*LockedMetrics, error) {
	m := &LockedMetrics{}
	return m, readJSON(filepath.Join(dir, "splits", splitID, "metrics.json"), m)
}

// readJSON reads a file of a run's folder.
func readJSON(path string, to any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// ResultError means that a run that was made again came to another result. File is the
// first file that differs, empty when the result hash does.
type ResultError struct{ Before, Now, File string }

// Error names both.
func (e *ResultError) Error() string {
	what := "result hash"
	if e.File != "" {
		what = e.File
	}
	return fmt.Sprintf("%s %s became %s", what, e.Before, e.Now)
}

// Rehearse makes everything that Write would, and writes nothing: the files are hashed.
func (s *Store) Rehearse(run *Run) (*Written, error) {
	if err := run.check(); err != nil {
		return nil, err
	}
	st := &stage{kept: map[string][]byte{}}
	w, err := st.writeFiles(run)
	if err != nil {
		return nil, fmt.Errorf("artifacts of %s: %w", run.ID, err)
	}
	delete(st.kept, metadataName)
	w.JSON = st.kept
	return w, nil
}

// judged are the tables that numbers of promotion are worked out of besides the JSON files.
func judged(name string) bool {
	return strings.HasSuffix(name, "/equity_curve.csv") || name == "falsify/buy_and_hold/benchmark.csv"
}

// rehearse hashes files, and keeps those that are JSON or a table that is judged.
func (s *stage) rehearse(list []content) error {
	for _, c := range list {
		var text bytes.Buffer
		h := sha256.New()
		w := &counter{w: h}
		keeps := c.mediaType == mediaJSON || judged(c.name)
		if keeps {
			w.w = io.MultiWriter(h, &text)
		}
		buffered := bufio.NewWriterSize(w, writeBuffer)
		if err := errors.Join(c.write(buffered), buffered.Flush()); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if keeps {
			s.kept[c.name] = text.Bytes()
		}
		s.files = append(s.files, File{
			Name: c.name, SHA256: hex.EncodeToString(h.Sum(nil)), Size: w.n, MediaType: c.mediaType,
		})
	}
	return nil
}

// counter counts the bytes that it passes on.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// Restore makes the folder of a stored run again that has none: every file must be what the row's metadata
// list, and payload, their bytes, becomes metadata.json. The error is a *ResultError.
func (s *Store) Restore(run *Run, before *Metadata, payload []byte) error {
	if err := run.check(); err != nil {
		return err
	}
	capsules, err := s.Capsules(run.ID)
	if err != nil {
		return err
	}
	st, err := newStage(s.root, run.ID, s.checkpoint)
	if err != nil {
		return err
	}
	if err = st.writeCapsules(capsules); err == nil {
		err = st.restore(run, before, payload)
	}
	if err == nil {
		err = st.publish(run.ID, s.Discard)
	}
	if err != nil {
		return errors.Join(err, st.removeFolder())
	}
	return nil
}

func (s *stage) restore(run *Run, before *Metadata, payload []byte) error {
	w, err := s.writeFiles(run)
	if err != nil {
		return fmt.Errorf("artifacts of %s: %w", run.ID, err)
	}
	if h := before.ResultHash; h != nil && w.Report.ResultHash != *h {
		return &ResultError{Before: *h, Now: w.Report.ResultHash}
	}
	for i := range max(len(before.Artifacts), len(w.Metadata.Artifacts)) {
		var was, is File
		if i < len(before.Artifacts) {
			was = before.Artifacts[i]
		}
		if i < len(w.Metadata.Artifacts) {
			is = w.Metadata.Artifacts[i]
		}
		if was != is {
			return &ResultError{Before: was.SHA256, Now: is.SHA256, File: cmp.Or(was.Name, is.Name)}
		}
	}
	if err := os.Remove(filepath.Join(s.dir, metadataName)); err != nil {
		return err
	}
	return s.writeBytes(metadataName, mediaJSON, payload)
}

// Renew makes a stored run again: if it has the same result hash and the same files as
// before, its metadata.json gets the new times and nothing else changes. The error is a
// *ResultError if it has not. Log and published series do not count: the output of a strategy is no
// result; nor does a table of orders or fills that an earlier version has not written, nor the file of the
// decisions, whose lines are in the result hash.
func (s *Store) Renew(run *Run, before *Metadata) (*Written, error) {
	w, err := s.Rehearse(run)
	if err != nil {
		return nil, err
	}
	if before.ResultHash != nil && w.Report.ResultHash != *before.ResultHash {
		return nil, &ResultError{Before: *before.ResultHash, Now: w.Report.ResultHash}
	}
	known := map[string]string{}
	for _, f := range before.Artifacts {
		known[f.Name] = f.SHA256
	}
	for _, f := range w.Metadata.Artifacts {
		_, had := known[f.Name]
		later := !had && slices.Contains([]string{OrdersFile, FillsFile, DecisionsFile}, path.Base(f.Name))
		output := f.Name == logName || path.Base(f.Name) == SeriesFile
		if !output && !later && known[f.Name] != f.SHA256 {
			return nil, &ResultError{Before: known[f.Name], Now: f.SHA256, File: f.Name}
		}
	}
	renewed := *before
	renewed.Volatile = w.Metadata.Volatile
	w.Metadata = &renewed
	if w.Payload, err = renewed.Encode(); err != nil {
		return nil, err
	}
	return w, s.Annotate(run.ID, w.Payload)
}

// Annotate puts new metadata.json in the place of that of a stored run; its files must be
// those of before.
func (s *Store) Annotate(runID string, payload []byte) error {
	// Made outside the folder: a crash must not leave an unlisted file there.
	st, err := newStage(s.root, runID, s.checkpoint)
	if err != nil {
		return err
	}
	dir := s.Dir(runID)
	err = st.writeBytes(metadataName, mediaJSON, payload)
	if err == nil {
		err = os.Rename(filepath.Join(st.dir, metadataName), filepath.Join(dir, metadataName))
	}
	if err == nil {
		err = file.SyncDir(dir)
		st.checkpoint.Reach("renewed")
	}
	return errors.Join(err, st.removeFolder())
}

// Replace is Write for a run whose folder an earlier attempt may have left: that one
// moves to .orphan/, its capsules come along into the new one. The earlier folder goes
// when the new one is whole; a crash between the two leaves that one to be adopted, and
// its capsules to Rescue.
func (s *Store) Replace(run *Run) (*Written, error) {
	if err := run.check(); err != nil {
		return nil, err
	}
	if err := s.Rescue(run.ID); err != nil {
		return nil, err
	}
	capsules, err := s.Capsules(run.ID)
	if err != nil {
		return nil, err
	}
	return s.writeFolder(run, capsules, s.Discard)
}

// Rescue brings capsules back that a Replace which was cut short has left beside the
// place of its run. Those that are there already win.
func (s *Store) Rescue(runID string) error {
	entries, err := os.ReadDir(s.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	have, err := s.Capsules(runID)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), file.TempPrefix+runID+"-") {
			continue
		}
		if err := s.rescueCapsules(runID, filepath.Join(s.root, e.Name()), have); err != nil {
			return err
		}
	}
	return nil
}

// rescueCapsules takes the capsules of one folder, if no process works on it.
func (s *Store) rescueCapsules(runID, dir string, have map[string][]byte) error {
	lock, err := file.TryLockDir(dir)
	if err != nil || lock == nil {
		return err
	}
	defer lock.Release()
	payload, err := os.ReadFile(filepath.Join(dir, metadataName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is written last: until then the place of the run has them all
	}
	if err != nil {
		return err
	}
	if m, err := DecodeMetadata(payload); err != nil || m.RunID != runID {
		return nil // of a run whose id begins alike
	}
	capsules, err := readCapsules(filepath.Join(dir, capsulesDir))
	for name, content := range capsules {
		if _, known := have[name]; !known {
			err = errors.Join(err, s.AddCapsule(runID, name, content))
		}
	}
	return err
}

// Discard moves a run's folder, if there is one, to .orphan/ with all that it holds. One
// that holds nothing but capsules, which are read before, is removed.
func (s *Store) Discard(runID string) error {
	f := &Folder{Name: runID, store: s}
	if _, err := os.Lstat(f.path()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if f.onlyCapsules() {
		return os.RemoveAll(f.path())
	}
	_, err := f.moveAway()
	return err
}

// AddCapsule writes a failure capsule beside the files of a run; it is in no hash. An
// existing one of the same name is replaced.
func (s *Store) AddCapsule(runID, name string, content []byte) error {
	dir := filepath.Join(s.Dir(runID), capsulesDir)
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	if err := errors.Join(file.SyncDir(s.root), file.SyncDir(s.Dir(runID))); err != nil {
		return err
	}
	return file.Write(filepath.Join(dir, name), content, fileMode)
}

// Capsules are the failure capsules of a run by file name.
func (s *Store) Capsules(runID string) (map[string][]byte, error) {
	return readCapsules(filepath.Join(s.Dir(runID), capsulesDir))
}

func readCapsules(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), file.TempPrefix) {
			continue
		}
		if out[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return out, nil
}
