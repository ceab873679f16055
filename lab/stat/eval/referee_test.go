package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// TestProveStatistics asks arch, statsmodels, scipy and plain numpy: on numbers drawn anew for each
// seed, the answers are theirs.
func TestProveStatistics(t *testing.T) {
	ring.Proof(t, "it installs Python packages")
	referees := filepath.Join("testdata", "referee")
	interpreter := hosttest.Python(t, filepath.Join(referees, "requirements.txt"))
	table, questions := New(), map[string]int{}
	for _, seed := range []string{"1", "2", "3"} {
		cmd := exec.CommandContext(t.Context(), interpreter, filepath.Join(referees, "referee.py"), seed)
		cmd.Env = append(os.Environ(), hosttest.CompiledPython(t), "PYTHONWARNINGS=ignore")
		var said, complaint bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &complaint
		if err := cmd.Run(); err != nil || complaint.Len() > 0 {
			t.Fatalf("seed %s: %v\n%s", seed, err, complaint.String())
		}
		lines := bufio.NewScanner(&said)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var q struct {
				Who, Fn   string
				Inputs    map[string]any
				Expected  any
				Tolerance float64
			}
			if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
				t.Fatal(err)
			}
			a := ask(t, table, map[string]any{"fn": q.Fn, "inputs": q.Inputs})
			if a.Error != nil {
				t.Fatalf("seed %s, %s: %+v", seed, q.Fn, *a.Error)
			}
			compare(t, "seed "+seed+", "+q.Fn+" by "+q.Who, a.Value, q.Expected, q.Tolerance)
			questions[q.Who]++
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, who := range []string{"arch", "statsmodels", "scipy", "numpy"} {
		if questions[who] < 9 {
			t.Errorf("%s was asked %d times", who, questions[who])
		}
	}
	t.Logf("answers compared: %v", questions)
}
