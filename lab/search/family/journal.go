package family

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// ProgressFile is the name of the journal of a family.
const ProgressFile = "progress.jsonl"

type entry struct {
	At      string   `json:"at"`
	Done    int      `json:"done"`
	Total   int      `json:"total"`
	Running int      `json:"running"`
	Failed  int      `json:"failed"`
	Pruned  int      `json:"pruned"`
	Best    *float64 `json:"best"`
	// ETASeconds is null before a few trials were executed.
	ETASeconds *int64 `json:"eta_seconds"`
}

// journal appends to progress.jsonl: a line for each trial that was executed, one for all
// that were known when something is executed next, and one at the end. It is for people
// and dashboards; nothing that a family puts out depends on it.
type journal struct {
	file    *os.File
	began   time.Time
	now     func() time.Time
	pending *State
}

func openJournal(dir string) (*journal, error) {
	f, err := os.OpenFile(filepath.Join(dir, ProgressFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return &journal{file: f, began: time.Now(), now: time.Now}, err
}

// note takes a state; fresh is whether something was executed.
func (j *journal) note(s State, fresh bool) error {
	if !fresh && s.Done < s.Total {
		j.pending = &s
		return nil
	}
	return j.write(s)
}

func (j *journal) write(s State) error {
	j.pending = nil
	now := j.now()
	line, err := json.Marshal(entry{
		At: market.FromTime(now).String(), Done: s.Done, Total: s.Total, Running: s.Running, Failed: s.Failed,
		Pruned: s.Pruned,
		Best:   s.Best, ETASeconds: eta(s, now.Sub(j.began)),
	})
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(line, '\n')) // in one piece: two processes may write
	return err
}

// enough is how many trials have to be executed before their pace says anything of the rest.
const enough = 3

// eta is how many seconds are left at the speed so far, nil while that is not known.
func eta(s State, gone time.Duration) *int64 {
	executed := s.Done - s.Known
	if executed < enough {
		return nil
	}
	left := int64(
		(gone / time.Duration(executed) * time.Duration(s.Total-s.Done)).Round(time.Second) / time.Second)
	return &left
}

// Progress is what the journal of a search says last of how far it is.
type Progress struct {
	At     time.Time
	Done   int
	Total  int
	Failed int
	// Left is how long the rest takes at the speed so far, negative where that is not known.
	Left time.Duration
}

// lastLine is more than a line of a journal has.
const lastLine = 4096

// ReadProgress reads how far a search is. The error is fs.ErrNotExist before it has begun.
func ReadProgress(dir string) (Progress, error) {
	f, err := os.Open(filepath.Join(dir, ProgressFile))
	if err != nil {
		return Progress{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Progress{}, err
	}
	text := make([]byte, min(info.Size(), lastLine))
	if _, err := f.ReadAt(text, info.Size()-int64(len(text))); err != nil && !errors.Is(err, io.EOF) {
		return Progress{}, err
	}
	return decodeProgress(text)
}

// decodeProgress reads the last whole line of the end of a journal.
func decodeProgress(text []byte) (Progress, error) {
	end := bytes.LastIndexByte(text, '\n')
	if end < 0 {
		return Progress{}, fs.ErrNotExist
	}
	var e entry
	line := text[bytes.LastIndexByte(text[:end], '\n')+1 : end]
	if err := json.Unmarshal(line, &e); err != nil {
		return Progress{}, fmt.Errorf("%s: %w", ProgressFile, err)
	}
	at, err := time.Parse(time.RFC3339, e.At)
	if err != nil {
		return Progress{}, fmt.Errorf("%s: %w", ProgressFile, err)
	}
	p := Progress{At: at, Done: e.Done, Total: e.Total, Failed: e.Failed, Left: -1}
	if e.ETASeconds != nil && *e.ETASeconds >= 0 && *e.ETASeconds < math.MaxInt32 {
		p.Left = time.Duration(*e.ETASeconds) * time.Second
	}
	return p, nil
}

// LeftAt is how long the rest takes from a moment on; negative where that is not known, as when no
// trial has ended for longer than a search that goes on would need.
func (p Progress) LeftAt(now time.Time) time.Duration {
	gone := now.Sub(p.At)
	if p.Left <= 0 || p.Done >= p.Total || gone < 0 {
		return -1
	}
	each := p.Left / time.Duration(p.Total-p.Done)
	if gone > max(10*each, 30*time.Second) {
		return -1
	}
	return max(p.Left-gone, 0)
}

func (j *journal) close() (err error) {
	if j.pending != nil {
		err = j.write(*j.pending)
	}
	return errors.Join(err, j.file.Close())
}
