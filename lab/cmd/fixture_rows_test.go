package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryRowIsTested: each fixture of the acceptance table has a script or a test that
// says so.
func TestEveryRowIsTested(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range append(scripts, "family_test.go") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "//") {
				all.WriteString(line)
			}
		}
	}
	for row := 1; row <= 21; row++ {
		if id := fmt.Sprintf("B-%02d", row); !strings.Contains(all.String(), id) {
			t.Errorf("nothing tests %s", id)
		}
	}
}
