package cli

import (
	"strings"
	"testing"
)

func TestNothingIsObeyed(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\n":              "plain\ttext\n",
		"\x1b[2J\x1b]0;owned\a":      `\u001b[2J\u001b]0;owned\u0007`,
		"over\rwritten\b":            `over\u000dwritten\u0008`,
		"\u009b31m caf\u00e9 \u20ac": `\u009b31m café €`,
		"abc\u202eexe.fdp":           `abc\u202eexe.fdp`,
		"\x9b31m":                    `\x9b31m`,
		"\x7f":                       `\u007f`,
	} {
		for _, cut := range []int{0, 1, len(text) / 2} {
			var out strings.Builder
			w := NewWriter(&out)
			for _, part := range []string{text[:cut], text[cut:]} {
				if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatal(n, err)
				}
			}
			if out.String() != want {
				t.Errorf("%q is %q, want %q", text, out.String(), want)
			}
		}
	}
}

func FuzzWriter(f *testing.F) {
	f.Add([]byte("\x1b[2J"), 1)
	f.Add([]byte("caf\xc3\xa9 \xe2\x80\xae"), 6)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		var out strings.Builder
		w := NewWriter(&out)
		cut = max(0, min(cut, len(text)))
		_, _ = w.Write(text[:cut])
		_, _ = w.Write(text[cut:])
		for _, r := range out.String() {
			if obeyed(r) {
				t.Fatalf("%q passed %q on", text, r)
			}
		}
	})
}
