package exposition

import (
	"strconv"
	"strings"
)

// Text collects lines of the format.
type Text struct{ buf []byte }

// Bytes is what has been collected.
func (t *Text) Bytes() []byte { return t.buf }

// Family begins a metric of a kind: counter, gauge or histogram.
func (t *Text) Family(name, kind, help string) {
	t.buf = append(t.buf, "# HELP "+name+" "+help+"\n# TYPE "+name+" "+kind+"\n"...)
}

// Single is a metric with one sample.
func (t *Text) Single(name, kind, help string, value float64) {
	t.Family(name, kind, help)
	t.Sample(name, value)
}

// Sample writes one line. Labels are name, value, name, value.
func (t *Text) Sample(name string, value float64, labels ...string) {
	t.buf = append(t.buf, name...)
	for i := 0; i+1 < len(labels); i += 2 {
		sep := byte(',')
		if i == 0 {
			sep = '{'
		}
		t.buf = append(t.buf, sep)
		t.buf = append(t.buf, labels[i]+`="`...)
		t.buf = append(t.buf, escape(labels[i+1])...)
		t.buf = append(t.buf, '"')
	}
	if len(labels) > 0 {
		t.buf = append(t.buf, '}')
	}
	t.buf = append(t.buf, ' ')
	t.buf = append(t.buf, number(value)...)
	t.buf = append(t.buf, '\n')
}

// escape makes a label value safe: a backslash, a quote and a line end are escaped.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\uFFFD"))
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
