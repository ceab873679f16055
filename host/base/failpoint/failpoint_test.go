package failpoint

import (
	"os/exec"
	"testing"
)

func TestLabels(t *testing.T) {
	seen := map[Label]bool{}
	for _, l := range Labels() {
		if seen[l] || l == "" {
			t.Errorf("label %q twice or empty", l)
		}
		seen[l] = true
	}
	if len(seen) != 20 {
		t.Errorf("%d labels, want 20", len(seen))
	}
}

func TestParse(t *testing.T) {
	if l, n, err := parse("intent-committed:3"); l != IntentCommitted || n != 3 || err != nil {
		t.Errorf("%s %d %v", l, n, err)
	}
	for _, text := range []string{"", ":", "intent-committed", "intent-committed:", "intent-committed:0",
		"intent-committed:-1", "nowhere:1", "intent-committed:1:2"} {
		if _, _, err := parse(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

// TestTagged runs the tests that need the tag, which ordinary test runs leave out.
func TestTagged(t *testing.T) {
	if Enabled {
		t.Skip("needs a build without the tag crashpoints")
	}
	out, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-tags", "crashpoints", "-run",
		"TestKills|TestBadPlan", ".").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestOffDoesNothing(t *testing.T) {
	if Enabled {
		t.Skip("needs a build without the tag crashpoints")
	}
	t.Setenv(Env, "intent-before:1")
	Point(IntentBefore)
	if n := testing.AllocsPerRun(100, func() { Point(IntentBefore) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
