package library

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/assay-run/assay/host/artifact"
)

// Falsification is what a falsification found.
type Falsification struct {
	RunID   string `json:"run_id"`
	Base    string `json:"base"`
	Overall string `json:"overall"`
	// Refuted are the sentences about the gates that failed.
	Refuted []string `json:"refuted"`
	// Tests are as falsify/summary.json has them, failures first, each with its number among the tests,
	// its sentence, the value that was found beside its bound, and the command that repeats it.
	Tests []map[string]any `json:"tests"`
}

// finding is what is read of a test.
type finding struct {
	ID, Verdict string
	Statistic   struct{ Value, Threshold *float64 }
}

// tell adds to a test of a summary what a reader needs besides.
func (l *Library) tell(text json.RawMessage, number int, again string) (map[string]any, bool, error) {
	var shown map[string]any
	var t finding
	if err := errors.Join(json.Unmarshal(text, &shown), json.Unmarshal(text, &t)); err != nil {
		return nil, false, err
	}
	if shown == nil {
		return nil, false, errors.New("a test is null")
	}
	shown["number"], shown["repeat"] = number, again+t.ID
	shown["value"], shown["bound"] = t.Statistic.Value, t.Statistic.Threshold
	if l.lab != nil {
		sentence, err := l.lab.Sentence(text)
		if err != nil {
			return nil, false, err
		}
		shown["sentence"] = sentence
	}
	return shown, t.Verdict == "fail", nil
}

// Falsification returns a completed falsification.
func (l *Library) Falsification(ctx context.Context, runID string) (*Falsification, error) {
	e, _, err := l.find(ctx, runID)
	if err != nil {
		return nil, err
	}
	a := e.details().attack
	if e.row.Kind != artifact.KindFalsification || a == nil {
		return nil, &NotFoundError{KindRun, runID}
	}
	f := &Falsification{RunID: runID, Base: a.BaseRunID, Overall: a.Overall,
		Refuted: append([]string{}, a.Refuted...), Tests: []map[string]any{}}
	const name = "falsify/summary.json"
	text, err := l.store.Read(e.meta, name)
	if err != nil {
		return nil, err
	}
	var summary struct{ Tests []json.RawMessage }
	if err := json.Unmarshal(text, &summary); err != nil {
		return nil, damaged(runID, name, err)
	}
	again := "lab falsify " + e.row.Slug + " --run " + a.BaseRunID + " --force --only "
	var rest []map[string]any
	for i, text := range summary.Tests {
		t, failed, err := l.tell(text, i+1, again)
		if err != nil {
			return nil, damaged(runID, name, err)
		}
		if failed {
			f.Tests = append(f.Tests, t)
		} else {
			rest = append(rest, t)
		}
	}
	f.Tests = append(f.Tests, rest...)
	return f, nil
}
