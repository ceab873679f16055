package permutedselection

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// journal is the file in which permuted_selection notes what it has finished, so that an
// attack that is interrupted goes on where it was. One belongs to one question, which has
// all that its numbers depend on.
type journal struct {
	found map[int]*searched
	file  *os.File // nil: nothing is kept
}

// line is a line of the journal; Search 0 is that on the candles as they are.
type line struct {
	Search int `json:"search"`
	*searched
}

// openJournal reads what there is at a path, up to the first line that was not written to
// its end. With an empty path nothing is kept.
func openJournal(path string) (_ *journal, err error) {
	j := &journal{found: map[int]*searched{}}
	if path == "" {
		return j, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if j.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(j.file)
	if err == nil {
		sound := j.read(text)
		if err = j.file.Truncate(sound); err == nil {
			_, err = j.file.Seek(sound, io.SeekStart)
		}
	}
	if err != nil {
		return nil, errors.Join(err, j.file.Close())
	}
	return j, nil
}

// read takes the lines that are whole and returns how many bytes they are.
func (j *journal) read(text []byte) (sound int64) {
	for raw := range bytes.Lines(text) {
		e := line{searched: &searched{}}
		if !bytes.HasSuffix(raw, []byte("\n")) || json.Unmarshal(raw, &e) != nil || e.Search < 0 {
			break
		}
		j.found[e.Search] = e.searched
		sound += int64(len(raw))
	}
	return sound
}

// note adds a search. It is on the disk when note returns.
func (j *journal) note(i int, s *searched) error {
	if j.file == nil {
		return nil
	}
	text, err := json.Marshal(line{i, s})
	if err != nil {
		return err
	}
	if _, err := j.file.Write(append(text, '\n')); err != nil {
		return err
	}
	return j.file.Sync()
}

func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}
