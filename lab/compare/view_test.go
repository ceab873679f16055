package compare

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestCSVSaysWhatTheJSONSays: every number of the CSV is that of the JSON, an empty
// field where that is null.
func TestCSVSaysWhatTheJSONSays(t *testing.T) {
	w := three(t)
	w.add(spec{id: "run_few", params: `{"fast":7,"name":"a, \"b\"","deep":{"x":[1]}}`, noise: 4, trades: 5})
	c := w.compare(Options{})
	var b bytes.Buffer
	if err := c.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "\r") {
		t.Error("lines do not end by a line feed alone")
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	value := func(row []string, column string) string {
		at := slices.Index(rows[0], column)
		if at < 0 {
			t.Fatalf("no column %s in %v", column, rows[0])
		}
		return row[at]
	}
	for i, r := range c.Runs {
		row := rows[i+1]
		if value(row, "run_id") != r.RunID ||
			value(row, "baseline") != strconv.FormatBool(r.RunID == c.Baseline) ||
			value(row, "split") != "walk_forward" {
			t.Errorf("%v", row)
		}
		for _, v := range r.Metrics {
			field := value(row, v.Key)
			if x, err := strconv.ParseFloat(field, 64); (field == "") != (v.Reason != "") || field != "" &&
				(err != nil || x != v.Number) {
				t.Errorf("%s of %s is %q, not %v", v.Key, r.RunID, field, v.Number)
			}
		}
	}
	few := rows[1+slices.Index(ids(c), "run_few")]
	for column, want := range map[string]string{"param:name": `a, "b"`, "param:deep": `{"x":[1]}`,
		"param:fast": "7", "param:slow": "", "sharpe_ratio": "", "days": "158", "deviation": "false"} {
		if got := value(few, column); got != want {
			t.Errorf("%s is %q, want %q", column, got, want)
		}
	}
}

func TestMarkdownIsEscaped(t *testing.T) {
	c := three(t).compare(Options{})
	c.Runs[0].Params = json.RawMessage(`{"x":"a|b<script>"}`)
	var b bytes.Buffer
	if err := c.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); !strings.Contains(s, `a\|b&lt;script>`) || strings.Contains(s, "<script") {
		t.Errorf("%s", s)
	}
	columns := 0
	for _, line := range strings.Split(b.String(), "\n") {
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		switch {
		case n == 0:
			columns = 0
		case columns == 0:
			columns = n
		case n != columns:
			t.Errorf("%d columns of %d: %s", n, columns, line)
		}
	}
}

func TestABrokenPipe(t *testing.T) {
	c := three(t).compare(Options{})
	if err := errors.Join(c.WriteCSV(broken{}), nil); err == nil {
		t.Error("a CSV that was not written is no error")
	}
	if c.WriteJSON(broken{}) == nil || c.WriteMarkdown(broken{}) == nil {
		t.Error("what was not written is no error")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("closed") }

func TestBrief(t *testing.T) {
	for value, want := range map[string]string{
		`null`: "none", `10`: "10", `"1h"`: "1h", `true`: "true", `"` + hash('a') + `"`: "aaaaaaaa",
		`"` + hash('g') + `"`: hash('g'),
		`"two\nlines"`:        `"two\nlines"`, `"\u001b[31m"`: `"\u001b[31m"`, ``: "none",
	} {
		if got := brief(json.RawMessage(value)); got != want {
			t.Errorf("%s is shown as %s, want %s", value, got, want)
		}
	}
}
