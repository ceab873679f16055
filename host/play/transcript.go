package play

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/assay-run/assay/host/result"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// MaxLogFile is how many bytes the log file of a run may have.
const MaxLogFile = 10 << 20

// transcript is the lines of log.jsonl. What goes beyond its limit is counted, and the
// last line says so: a log that is cut keeps its beginning.
type transcript struct {
	split string
	limit int
	text  []byte
	cut   int64
}

// transcriptLine is one line of log.jsonl. Step is nil where the host says something.
type transcriptLine struct {
	SplitID string        `json:"split_id"`
	Step    *int64        `json:"step,omitempty"`
	Time    market.Time   `json:"time"`
	Level   string        `json:"level"`
	Source  string        `json:"source"`
	Message string        `json:"message"`
	Fields  market.Fields `json:"fields"`
}

func (t *transcript) add(step *int64, l result.LogLine) {
	if t.limit == 0 {
		return
	}
	line, err := json.Marshal(transcriptLine{t.split, step, l.Time, l.Level, l.Source, l.Message, l.Fields})
	if err != nil || t.cut > 0 || len(t.text)+len(line)+1 > t.limit {
		t.cut++
		return
	}
	t.text = append(append(t.text, line...), '\n')
}

// leaveOut notes lines that the strategy's process has left out at this place.
func (t *transcript) leaveOut(n int64, at market.Time) {
	if n > 0 {
		t.add(nil, omission(at, n, "lines are left out here: a strategy may write one per candle on average"))
	}
}

// file is every line so far.
func (t *transcript) file() []byte {
	if t.cut == 0 {
		return t.text[:len(t.text):len(t.text)]
	}
	whole := *t
	whole.cut, whole.limit = 0, len(t.text)+maxNotice
	whole.text = t.text[:len(t.text):len(t.text)]
	whole.add(nil, omission(0, t.cut, fmt.Sprintf("the log is cut here at %d bytes", t.limit)))
	return whole.text
}

// maxNotice is room for the line that says that the log is cut.
const maxNotice = 4 << 10

func omission(at market.Time, n int64, why string) result.LogLine {
	count := market.Fields{{Key: "lines_left_out", Value: strconv.FormatInt(n, 10)}}
	return result.LogLine{Time: at, Level: "warn", Source: "host", Message: why, Fields: count}
}
