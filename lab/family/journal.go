package family

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// ProgressFile is the name of the journal of a family.
const ProgressFile = "progress.jsonl"

// entry is a line of progress.jsonl.
type entry struct {
	At      string   `json:"at"`
	Done    int      `json:"done"`
	Total   int      `json:"total"`
	Running int      `json:"running"`
	Failed  int      `json:"failed"`
	Pruned  int      `json:"pruned"`
	Best    *float64 `json:"best"`
	// ETASeconds is null until something can be said.
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

// note takes a state; fresh says that something was executed.
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
		At: market.FromTime(now).String(), Done: s.Done, Total: s.Total, Running: s.Running, Failed: s.Failed, Pruned: s.Pruned,
		Best: s.Best, ETASeconds: eta(s, now.Sub(j.began)),
	})
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(line, '\n')) // in one piece: two processes may write
	return err
}

// eta is how many seconds are left at the speed so far.
func eta(s State, gone time.Duration) *int64 {
	executed := s.Done - s.Known
	if executed <= 0 {
		return nil
	}
	left := int64((gone / time.Duration(executed) * time.Duration(s.Total-s.Done)).Round(time.Second) / time.Second)
	return &left
}

func (j *journal) close() error {
	var err error
	if j.pending != nil {
		err = j.write(*j.pending)
	}
	if e := j.file.Close(); err == nil {
		err = e
	}
	return err
}
