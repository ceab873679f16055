package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
)

// RecordName is the file in which a falsification keeps the trials that it was judged among.
const RecordName = "falsify/trials.jsonl"

// recordSchema is the schema of its first line.
const recordSchema = "trials/v1"

// recordedTrial is what is read of a further line; Series is the daily returns as the lab
// encodes them.
type recordedTrial struct {
	Key    string   `json:"key"`
	RunID  string   `json:"run_id"`
	Copies []string `json:"copies"`
	Series []byte   `json:"series"`
}

// readRecord reads the trials of a falsification.
func readRecord(text []byte) ([]recordedTrial, error) {
	lines := slices.Collect(bytes.Lines(text))
	var head struct {
		Schema string `json:"schema"`
	}
	if len(lines) < 2 || jsonv2.Unmarshal(lines[0], &head) != nil || head.Schema != recordSchema {
		return nil, invalid(RecordName, "line 1 is not that of a record of trials (%s)", recordSchema)
	}
	var list []recordedTrial
	for i, line := range lines[1:] {
		var t recordedTrial
		if err := jsonv2.Unmarshal(line, &t); err != nil || t.Key == "" {
			return nil, invalid(RecordName, "line %d is not that of a trial", i+2)
		}
		list = append(list, t)
	}
	return list, nil
}

// tried requires every trial that a falsification was judged among to be listed, with the
// returns that it has there, and no fewer trials to be declared than are listed. A bundle of an
// earlier version lists none. It reports whether all files were there, and adds to the evidence which
// daily returns of the list these have.
func (c *check) tried(sums map[string]string, read Reader, list []bundle.RunEvidence) (bool, error) {
	t := c.b.Trials
	if t == nil || t.Tried == nil {
		return true, nil
	}
	if t.FamilyTrials < int64(len(t.Tried)) {
		return false, c.mismatch(c.pointer("/trials/family_trials"), t.FamilyTrials, int64(len(t.Tried)))
	}
	listed := map[string]int{}
	for i, one := range t.Tried {
		for _, key := range append([]string{one.Key}, one.Copies...) {
			listed[key] = i
		}
	}
	for i, run := range c.runs {
		name := "runs/" + run.RunID + "/" + RecordName
		if run.Falsification == nil || sums[name] == "" {
			continue
		}
		text, err := read(name, sums[name])
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		record, err := readRecord(text)
		var bad *invalidError
		if errors.As(err, &bad) {
			return false, c.invalid(i, bad)
		}
		found, refused := c.record(record, listed)
		if refused != nil {
			return false, refused
		}
		list[i].Returns = placesOf(found)
	}
	return true, nil
}

// record holds the trials of one falsification against the list of the bundle, and returns the places
// of those with the same daily returns in both.
func (c *check) record(record []recordedTrial, listed map[string]int) ([]int, *bundle.Error) {
	var found []int
	for _, one := range record {
		at, is := listed[one.Key]
		for _, key := range one.Copies {
			if k, has := listed[key]; !is && has {
				at, is = k, true
			}
		}
		if !is {
			return nil, c.mismatch(c.pointer("/trials/tried"), nil, one.Key)
		}
		own := &c.b.Trials.Tried[at]
		if own.Key != one.Key || len(one.Series) == 0 {
			continue // another run stands for the trial
		}
		sum := digest.SHA256Hex(one.Series)
		if own.ReturnsSHA256 == sum {
			found = append(found, at)
			continue
		}
		judged := slices.ContainsFunc(c.runs, func(r *Run) bool { return r.RunID == own.RunID })
		if own.RunID == one.RunID && !judged { // what is judged is measured for itself
			return nil, c.mismatch(c.pointer(fmt.Sprintf("/trials/tried/%d/returns_sha256", at)),
				own.ReturnsSHA256, sum)
		}
	}
	return found, nil
}

// placesOf are the stretches of a list that some places make, each once.
func placesOf(found []int) []bundle.Places {
	slices.Sort(found)
	var list []bundle.Places
	for _, at := range found {
		i := int64(at)
		if n := len(list); n > 0 && i <= list[n-1].To {
			list[n-1].To = max(list[n-1].To, i+1)
		} else {
			list = append(list, bundle.Places{From: i, To: i + 1})
		}
	}
	return list
}
