package selection

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/selection/series"
	"github.com/assay-run/assay/lab/stat"
)

// RecordFile is where a falsification keeps the ledger that it was judged with.
const RecordFile = "falsify/trials.jsonl"

const recordSchema = "trials/v1"

// recordHead is the first line of a record.
type recordHead struct {
	Schema         string                   `json:"schema"`
	Judged         int                      `json:"judged"`
	Why            stat.Reason              `json:"why"`
	PeriodsPerYear float64                  `json:"periods_per_year"`
	TestPeeks      int                      `json:"test_peeks"`
	PostPeek       bool                     `json:"post_peek"`
	Again          int                      `json:"again"`
	Warnings       []artifact.ReportWarning `json:"warnings"`
}

// recordTrial is a line for each trial, in their order.
type recordTrial struct {
	Key      string             `json:"key"`
	RunID    string             `json:"run_id"`
	Exchange string             `json:"exchange"`
	Data     []artifact.Dataset `json:"data"`
	Copies   []string           `json:"copies"`
	Family   bool               `json:"family"`
	// Series is series.Encode in base64, null without one.
	Series *string `json:"series"`
}

// Record is the ledger as text, a line for each trial after one for the rest: all that
// Select and Digest need, whatever is tried later and whatever becomes of the runs.
func (l *Ledger) Record() ([]byte, error) {
	out, err := appendLine(nil, recordHead{recordSchema, l.Judged, l.Why, l.PeriodsPerYear, l.TestPeeks, l.PostPeek, l.Again, l.Warnings})
	for i := range l.Trials {
		t := &l.Trials[i]
		line := recordTrial{Key: t.Key, RunID: t.RunID, Exchange: t.Exchange, Data: t.Data, Copies: t.Copies, Family: t.Family}
		if t.Series != nil {
			text := base64.StdEncoding.EncodeToString(t.Series.Encode())
			line.Series = &text
		}
		if err == nil {
			out, err = appendLine(out, line)
		}
	}
	return out, err
}

func appendLine(out []byte, v any) ([]byte, error) {
	line, err := digest.JCS(v)
	return append(append(out, line...), '\n'), err
}

// ReadRecord is the ledger of a record.
func ReadRecord(text []byte) (*Ledger, error) {
	lines := slices.Collect(bytes.Lines(text))
	var head recordHead
	if len(lines) < 2 || json.Unmarshal(lines[0], &head) != nil || head.Schema != recordSchema {
		return nil, fmt.Errorf("line 1: this is no record of trials (%s)", recordSchema)
	}
	if head.Judged < 0 || head.Judged >= len(lines)-1 || math.IsInf(head.PeriodsPerYear, 0) {
		return nil, fmt.Errorf("line 1: /judged names trial %d of %d", head.Judged, len(lines)-1)
	}
	l := &Ledger{
		Judged: head.Judged, Why: head.Why, PeriodsPerYear: head.PeriodsPerYear, TestPeeks: head.TestPeeks, PostPeek: head.PostPeek,
		Again: head.Again, Warnings: head.Warnings,
	}
	var decoder series.Decoder
	for i, line := range lines[1:] {
		var r recordTrial
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
		t := Trial{Key: r.Key, RunID: r.RunID, Exchange: r.Exchange, Data: r.Data, Copies: r.Copies, Family: r.Family}
		if r.Series != nil {
			text, err := base64.StdEncoding.DecodeString(*r.Series)
			if err == nil {
				t.Series, err = decoder.Decode(text)
			}
			if err != nil {
				return nil, fmt.Errorf("line %d: /series: %w", i+2, err)
			}
		}
		l.Trials = append(l.Trials, t)
	}
	return l, nil
}
