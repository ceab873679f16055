package eval

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every name of the page that fixes the table is answered, with its inputs.
func TestTheTableIsThatOfThePage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "design", "statistics.md"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("needs the folder shared, with the design pages, beside the checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| fn | inputs | value |")
	table, _, _ = strings.Cut(table, "\n## ")
	quoted := regexp.MustCompile("`([^`]*)`")
	var want, got []string
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		if len(cells) < 3 || !strings.HasPrefix(cells[0], "| `") {
			continue
		}
		inputs := strings.Replace(cells[1], "as dsr_2014", "sr, trials_sr_variance, N, T, skew, kurt_raw", 1)
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			want = append(want, m[1]+": "+inputs)
		}
	}
	for _, f := range All() {
		// ours takes it in both
		inputs := strings.Replace(f.Inputs(), "confidence, divide_by (1); or", "confidence; or", 1)
		inputs = strings.Replace(inputs, ", rho (0)", "", 1)
		names := f.also
		if slices.ContainsFunc(want, func(row string) bool {
			return strings.HasPrefix(row, f.Names[0]+": ")
		}) {
			names = append([]string{f.Names[0]}, names...)
		}
		for _, name := range names {
			got = append(got, name+": "+inputs)
		}
	}
	if len(want) == 0 || !slices.Equal(got, want) {
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Errorf("row %d\ngot  %q\nwant %q", i, rowAt(got, i), rowAt(want, i))
			}
		}
	}
}

func rowAt(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

func TestEveryFunctionIsDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range All() {
		if len(f.Names) != 1 || !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`).MatchString(f.Names[0]) ||
			f.Doc == "" || !strings.HasSuffix(f.Doc, ".") && !strings.HasSuffix(f.Doc, "d") ||
			f.Value == "" || len(f.Forms) == 0 {
			t.Errorf("%+v", f)
		}
		for _, name := range append(f.Names, f.also...) {
			if seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
		}
		for _, form := range f.Forms {
			for _, i := range form {
				if i.Name == "" || strings.ContainsAny(i.Name, "[]{} ") {
					t.Errorf("%s: the input %q", f.Names[0], i.Name)
				}
			}
		}
	}
}
