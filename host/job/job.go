// Package job runs the program lab beside the service: what executes (a falsification, a search,
// an import) is a job. A [Manager] runs one job at a time, the others wait in order; while real money is
// traded all wait, and one that is at work is ended and begun again afterwards.
//
// A job is no run of the runner and changes nothing that it shows. The lab is started with the
// same state directory, answers with one JSON object, says on stderr how far it is, and ends with
// the service. The list of jobs is kept in the state directory: what the end of the service cut
// short is interrupted at its next start.
package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Status is how a job stands.
type Status string

// The states of a job; those after Running are ends.
const (
	Queued      Status = "queued"
	Running     Status = "running"
	Completed   Status = "completed"
	Failed      Status = "failed"
	Cancelled   Status = "cancelled"
	Interrupted Status = "interrupted"
)

func (s Status) isOver() bool { return s != Queued && s != Running }

// Job is one job as it is shown.
type Job struct {
	ID        string       `json:"job_id"`
	Kind      string       `json:"kind"`
	Status    Status       `json:"status"`
	Progress  *Progress    `json:"progress"`
	QueuedAt  market.Time  `json:"queued_at"`
	StartedAt *market.Time `json:"started_at"`
	EndedAt   *market.Time `json:"ended_at"`
	// Error is why a job has failed, nil for every other.
	Error *Failure `json:"error"`
	Links Links    `json:"links"`
	// Reports are what the lab says of the candles that a job has read; no other job has any.
	Reports []json.RawMessage `json:"reports"`
}

// Progress is how far the command at work is, as it says on stderr.
type Progress struct {
	Percent int    `json:"percent"`
	Text    string `json:"text"`
	// ETASeconds is how long the rest takes, nil while that is not known.
	ETASeconds *int64 `json:"eta_seconds"`
}

// Failure is why a job has failed: what the lab says. Details are null where there are none.
type Failure struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details"`
}

// Links lead to what a job is of and to what it has made.
type Links struct {
	RunID         *string `json:"run_id"`
	Falsification *string `json:"falsification"`
	PlanID        *string `json:"plan_id"`
	// Reports stand beside the links in the job.
	Reports []json.RawMessage `json:"-"`
}

// LabError is a refusal of the lab, or that it ended without an answer.
type LabError struct {
	Code, Message string
	Details       json.RawMessage
}

// Error has the code, too.
func (e *LabError) Error() string { return e.Code + ": " + e.Message }

// CodeFailed is the code of a lab that has not answered.
const CodeFailed = "LAB_FAILED"

// decodeAnswer reads what lab --json prints. The error is a *LabError.
func decodeAnswer(text []byte) (json.RawMessage, error) {
	var e struct {
		OK     bool            `json:"ok"`
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    string          `json:"code"`
			Message string          `json:"message"`
			Details json.RawMessage `json:"details"`
		} `json:"error"`
	}
	switch err := json.Unmarshal(text, &e); {
	case err != nil:
		return nil, &LabError{Code: CodeFailed, Message: "the lab ended without an answer"}
	case e.Error != nil:
		return nil, &LabError{e.Error.Code, e.Error.Message, e.Error.Details}
	case !e.OK:
		return nil, &LabError{Code: CodeFailed, Message: "the lab gave no reason"}
	}
	return e.Result, nil
}

// progressLine is a line of lab's progress: what, a share, and the rest for people.
var progressLine = regexp.MustCompile(`^\S.* (\d{1,3}) %(?:, (.{0,200}))?$`)

func decodeProgress(line []byte) (Progress, bool) {
	m := progressLine.FindSubmatch(line)
	if m == nil {
		return Progress{}, false
	}
	percent, err := strconv.Atoi(string(m[1]))
	p := Progress{Percent: percent, Text: string(bytes.ToValidUTF8(m[2], []byte("?")))}
	if last, is := strings.CutSuffix(p.Text, " left"); is {
		last = last[strings.LastIndexByte(last, ' ')+1:]
		if left, err := time.ParseDuration(last); err == nil && left >= 0 {
			p.ETASeconds = new(int64(left / time.Second))
		}
	}
	return p, err == nil && percent <= 100
}

// The list of jobs in the state directory.
const (
	listFile  = "jobs.json"
	listMode  = 0o600
	maxListed = 64 << 20
	schema    = "jobs/v1"
)

type list struct {
	Schema string `json:"schema"`
	Jobs   []Job  `json:"jobs"`
}

// decodeList reads the list of jobs strictly enough to show it again.
func decodeList(text []byte) ([]Job, error) {
	var l list
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, err
	}
	if l.Schema != schema {
		return nil, fmt.Errorf("its schema is %.40q, not %s", l.Schema, schema)
	}
	states := []Status{Queued, Running, Completed, Failed, Cancelled, Interrupted}
	for i, j := range l.Jobs {
		if j.ID == "" || !slices.Contains(states, j.Status) {
			return nil, fmt.Errorf("job %.40q has the status %.40q", j.ID, j.Status)
		}
		if j.Reports == nil { // an earlier version has kept none
			l.Jobs[i].Reports = []json.RawMessage{}
		}
	}
	return l.Jobs, nil
}

// readList reads the jobs of earlier starts. A list that cannot be read is set aside, because
// what it has is nothing but a record.
func readList(stateDir string) ([]Job, error) {
	path := filepath.Join(stateDir, listFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var jobs []Job
	if err == nil && info.Size() > maxListed {
		err = fmt.Errorf("it has more than %d bytes", maxListed)
	}
	if err == nil {
		var text []byte
		if text, err = os.ReadFile(path); err == nil {
			jobs, err = decodeList(text)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s cannot be read and is set aside: %w", path, err),
			os.Rename(path, path+".damaged"))
	}
	return jobs, nil
}

func writeList(stateDir string, jobs []Job) error {
	text, err := json.MarshalIndent(list{schema, jobs}, "", "  ")
	if err != nil {
		return err
	}
	return file.Write(filepath.Join(stateDir, listFile), append(text, '\n'), listMode)
}
