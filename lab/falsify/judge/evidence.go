package judge

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/falsify/judge/lines"
)

// Evidence files are CSV by RFC 4180 with line feeds and a header: money as plain decimals in full,
// other numbers with 12 significant digits and without exponent, times as 2024-01-01T00:00:00.000Z;
// an empty field is null. Equal input gives equal bytes.

// Dir is the folder of all evidence in the folder of a run.
const Dir = "falsify"

// File is one file of evidence. Rows do not count a header.
type File struct {
	// Path is in the folder of the run, with slashes.
	Path    string
	Content []byte
	Rows    int
}

// Attach names a file in the test.
func (t *Test) Attach(f File) {
	t.Evidence = append(t.Evidence, Evidence{Path: f.Path, SHA256: digest.SHA256Hex(f.Content), Rows: f.Rows})
}

// Sheet is a CSV file in the making.
type Sheet struct {
	path string
	text bytes.Buffer
	out  *csv.Writer
	rows int
}

// NewSheet begins a file of a test with its header.
func NewSheet(test, name string, header ...string) *Sheet {
	s := &Sheet{path: path(test, name)}
	s.out = csv.NewWriter(&s.text)
	_ = s.out.Write(header) // writing to memory cannot fail
	return s
}

func path(test, name string) string { return Dir + "/" + test + "/" + name }

// Row adds a row.
func (s *Sheet) Row(fields ...string) {
	_ = s.out.Write(fields)
	s.rows++
}

// File is the file with all rows.
func (s *Sheet) File() File {
	s.out.Flush()
	return File{s.path, s.text.Bytes(), s.rows}
}

// Plain is x with 12 significant digits, plain; empty where x is no finite number.
func Plain(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	return strconv.FormatFloat(metric.Round(x), 'f', -1, 64)
}

// Optional is [Plain] of a number that may be missing.
func Optional(x *float64) string {
	if x == nil {
		return ""
	}
	return Plain(*x)
}

// Replays is replays.csv of a test: a row per replay, in the order given.
func Replays(test string, list []Replay) File {
	s := NewSheet(test, "replays.csv", "variant", "replica", "status", "sharpe_ratio", "total_return",
		"max_drawdown", "total_trades", "net_pnl", "decision_hash")
	for i := range list {
		r := &list[i]
		trades := ""
		if r.Status == Completed {
			trades = strconv.Itoa(r.Trades)
		}
		s.Row(r.Variant, strconv.Itoa(r.Replica), string(r.Status), Optional(r.Sharpe),
			Optional(r.TotalReturn), Optional(r.MaxDrawdown), trades, r.NetPnL, r.DecisionHash)
	}
	return s.File()
}

// Difference is where a variant began to decide otherwise.
type Difference struct {
	Variant string
	lines.Diff
}

// FirstDiffs is first_diff.jsonl of a test: per variant the lines around the first
// difference, those of the base before those of the replay. The error is that of a line
// that is no JSON.
func FirstDiffs(test string, list []Difference) (File, error) {
	type entry struct {
		Variant string          `json:"variant"`
		Side    string          `json:"side"`
		Line    json.RawMessage `json:"line"`
	}
	text, rows := bytes.NewBuffer([]byte{}), 0
	out := json.NewEncoder(text)
	out.SetEscapeHTML(false)
	for _, d := range list {
		for i, line := range slices.Concat(d.Want, d.Got) {
			side := "base"
			if i >= len(d.Want) {
				side = "replay"
			}
			if err := out.Encode(entry{d.Variant, side, line}); err != nil {
				return File{}, fmt.Errorf("a decision line of %s: %w", d.Variant, err)
			}
			rows++
		}
	}
	return File{path(test, "first_diff.jsonl"), text.Bytes(), rows}, nil
}
