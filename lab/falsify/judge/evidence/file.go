package evidence

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"strconv"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/falsify/judge"
)

// Dir is the folder of all evidence in the folder of a run.
const Dir = "falsify"

// File is one file of evidence. Rows do not count a header.
type File struct {
	// Path is in the folder of the run, with slashes.
	Path    string
	Content []byte
	Rows    int
}

// Ref is the entry of summary.json.
func (f File) Ref() judge.Evidence {
	return judge.Evidence{Path: f.Path, SHA256: digest.SHA256Hex(f.Content), Rows: f.Rows}
}

// Attach names files in a test, in their order.
func Attach(t *judge.Test, files ...File) {
	for _, f := range files {
		t.Evidence = append(t.Evidence, f.Ref())
	}
}

// sheet is a CSV file in the making.
type sheet struct {
	path string
	text bytes.Buffer
	out  *csv.Writer
	rows int
}

func newSheet(test, name string, header ...string) *sheet {
	s := &sheet{path: path(test, name)}
	s.out = csv.NewWriter(&s.text)
	_ = s.out.Write(header) // writing to memory cannot fail
	return s
}

func path(test, name string) string { return Dir + "/" + test + "/" + name }

func (s *sheet) row(fields ...string) {
	_ = s.out.Write(fields)
	s.rows++
}

func (s *sheet) file() File {
	s.out.Flush()
	return File{s.path, s.text.Bytes(), s.rows}
}

// number is x with 12 significant digits, plain; empty where x is no finite number.
func number(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	return strconv.FormatFloat(metric.Round(x), 'f', -1, 64)
}

func optional(x *float64) string {
	if x == nil {
		return ""
	}
	return number(*x)
}

// jsonLine is a value as one line of JSON.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}
