package redteam

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/hosttest/redteam/attack"
	"github.com/assay-run/assay/host/hosttest/ring"
)

var update = flag.Bool("update", false, "rewrite the list of attacks")

// witnessed are the facts that only the witness sees, while a plugin runs.
var witnessed = []string{"plugin capabilities", "plugin user", "plugin may gain privileges",
	"plugin filter of system calls", "plugin namespaces",
	"plugin environment", "plugin descriptors", "plugin listens", "plugin files on disk", "plugin binds",
	"bystander tracer", "left", "level"}

// TestEveryAttackIsSeen: what an attack is judged by is looked at, and its name is its own.
func TestEveryAttackIsSeen(t *testing.T) {
	if len(attack.List()) < 100 {
		t.Errorf("only %d attacks", len(attack.List()))
	}
	s := newStage(t, users()[len(users())-1])
	known := s.baseline
	for _, name := range witnessed {
		known[name] = ""
	}
	names := map[string]bool{}
	for _, a := range attack.List() {
		if names[a.Name] {
			t.Errorf("two attacks are called %s", a.Name)
		}
		names[a.Name] = true
		seen := a.Fact == ""
		for fact := range known {
			seen = seen || fact == a.Fact || strings.HasPrefix(fact, a.Fact+" ")
		}
		if !seen {
			t.Errorf("%s is judged by %q, at which nobody looks", a.Name, a.Fact)
		}
	}
}

// TestAttacksWorkWithoutWalls: an attack that fails without walls shows nothing about them. As an ordinary
// user these succeed everywhere.
func TestAttacksWorkWithoutWalls(t *testing.T) {
	ring.Proof(t, "it makes every attack once more, and shows nothing about the walls")
	uid := users()[len(users())-1]
	if uid == 0 {
		t.Skip("needs another user than root: without walls the attacks would succeed")
	}
	s := newStageWith(t, uid, "off")
	level := s.ready()
	before, after, told := s.attackInRun(-1, false, level)
	if after["service"] != "alive" {
		t.Fatal("the service has ended, so that every attack seems to succeed")
	}
	for _, name := range []string{"prlimit-cpu-of-the-service", "prlimit-bystander", "nice-of-the-service",
		"affinity-of-a-bystander", "signal-a-bystander", "signal-by-queue", "signal-by-handle",
		"signal-everybody",
		"change-mode", "change-times", "truncate", "write", "append", "remove", "rename", "symbolic-link",
		"make-file",
		"make-folder", "make-pipe", "make-socket", "lock", "read-a-file", "list-a-folder", "look-at-a-file",
		"change-mode-of-the-registry", "read-the-registry", "read-all-candles", "plant-a-plugin",
		"list-the-root",
		"climb-out", "share-a-namespace", "see-the-environment", "run-a-shell", "outlive-the-run",
		"connect-to-a-path-socket", "send-to-a-path-socket", "connect-to-an-abstract-socket",
		"connect-by-tcp",
		"send-by-udp", "listen-on-tcp", "bind-an-abstract-socket", "internet-socket", "temporary-file",
		"fill-its-folder"} {
		for _, a := range attack.List() {
			if v := judge(a, before, after, told[name]); a.Name == name && v.held {
				t.Errorf("%s is held without walls: %s", name, v.why)
			}
		}
	}
}

// TestChangesAreSeen: the comparison that every verdict rests on finds what changed, came and went.
func TestChangesAreSeen(t *testing.T) {
	before := facts{"home a a": "1", "home ab ab": "1", "state x": "1", "left": ""}
	for _, c := range []struct {
		now  facts
		name string
		want int
	}{
		{facts{"home a a": "1", "home ab ab": "2", "state x": "1", "left": ""}, "home a", 0},
		{facts{"home a a": "2", "home ab ab": "1", "state x": "1", "left": ""}, "home a", 1},
		{facts{"home a a": "1", "home a a.new": "1", "home ab ab": "1"}, "home a", 1},
		{facts{"home ab ab": "1"}, "home a", 1},
		{facts{"home a a": "1", "state x": "1", "state y": "1"}, "state", 0}, // the service adds to it
		{facts{"home a a": "1", "state x": "2"}, "state", 1},
		{facts{"left": "1 processes"}, "left", 1},
	} {
		if got := before.changed(c.now, c.name); len(got) != c.want {
			t.Errorf("%v under %q: %q", c.now, c.name, got)
		}
	}
}

// page is beside the suite; docs/walls.md links to it.
const page = "attacks.md"

// TestPageListsTheAttacks holds the list against the suite.
func TestPageListsTheAttacks(t *testing.T) {
	const begin, end = "<!-- attacks -->\n", "<!-- end -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the list", page)
	}
	want := head + begin + listOfAttacks() + end + tail
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s does not list the attacks of the suite: run go test ./host/hosttest/redteam -run "+
			"Page -update", page)
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func listOfAttacks() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d attacks.\n\n| attack | the plugin |\n|---|---|\n", len(attack.List()))
	for _, a := range attack.List() {
		var by []string
		for _, role := range roles {
			if a.Suits(role) {
				by = append(by, role)
			}
		}
		name, how := a.Name, a.How
		if a.Fact == "" {
			name += " *"
		}
		if len(by) < len(roles) {
			how += " (" + strings.Join(by, ", ") + ")"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", name, how)
	}
	return b.String()
}
