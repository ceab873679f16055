package hint

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		word  string
		names []string
		want  string
	}{
		{"perid", []string{"period", "stake"}, "did you mean period? It has period, stake"},
		{"perid", []string{"period"}, "it has period"},
		{"zzzzzz", []string{"period", "stake"}, "it has period, stake"},
		{"x", nil, "it has none"},
	} {
		if got := Names(c.word, c.names); got != c.want {
			t.Errorf("%s: %s, want %s", c.word, got, c.want)
		}
	}
	if got := Names("x", strings.Split(strings.Repeat("name ", 30), " ")); strings.Count(got,
		"name") != maxNames || !strings.HasSuffix(got, ", ...") {
		t.Error(got)
	}
}

// TestFormIsInWords: what is said of a pattern has an example or names its letters, never the expression.
func TestFormIsInWords(t *testing.T) {
	for _, pattern := range []string{
		`^[^/\s:]{1,32}/[^/\s:]{1,32}$`, `^[1-9][0-9]{0,3}[smhdwM]$`, `^[a-z][a-z0-9_-]{0,62}$`,
		`^sha256:[0-9a-f]{64}$`, `^anything+$`,
	} {
		if got := Form(pattern); got == "" || regexp.MustCompile(`[\^$\[\]{}\\]`).MatchString(got) {
			t.Errorf("%s: %s", pattern, got)
		}
	}
}

func FuzzPosition(f *testing.F) {
	f.Add("{\n  \"é\": 1,\n}", 9)
	f.Add("", -1)
	f.Fuzz(func(t *testing.T, text string, offset int) {
		line, column := Position([]byte(text), offset)
		if line < 1 || column < 1 || line > strings.Count(text, "\n")+1 {
			t.Errorf("%q at %d: %d:%d", text, offset, line, column)
		}
	})
}

func TestPosition(t *testing.T) {
	const text = "{\n  \"é\": 1,\n}"
	for want, offset := range map[[2]int]int{{1, 1}: 0, {2, 3}: 4, {2, 6}: 8, {3, 1}: len(text) - 1} {
		if line, column := Position([]byte(text), offset); line != want[0] || column != want[1] {
			t.Errorf("byte %d is at %d:%d, want %v", offset, line, column, want)
		}
	}
}

func TestNearest(t *testing.T) {
	words := []string{"run", "runs", "replay", "compare", "validate"}
	for word, want := range map[string]string{"rnu": "run", "compar": "compare", "vlaidate": "validate",
		"replya": "replay", "xyz": "", "": "", "r": "", "repl": "replay", "runns": "runs"} {
		if got := strings.Join(Nearest(word, words), " "); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringMatching(`[a-c]{0,6}`).Draw(t, "a"),
			rapid.StringMatching(`[a-c]{0,6}`).Draw(t, "b")
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) ||
			d < max(len(a), len(b))-min(len(a), len(b)) {
			t.Fatalf("%q to %q: %d", a, b, d)
		}
	})
}
