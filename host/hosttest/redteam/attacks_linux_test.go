package redteam

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/redteam/attack"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// roles are the kinds of plugin.
var roles = []string{"strategy", "probe", "connector"}

// needAll skips a test where the machine does not grant all parts of the sandbox.
func needAll(t *testing.T, level string) {
	t.Helper()
	if level != "full" && *sandboxMode == "auto" {
		t.Skipf("needs the full sandbox; this machine has %q", level)
	}
}

// TestAttacksTogether makes all attacks that can be made side by side, in one process of each kind.
func TestAttacksTogether(t *testing.T) {
	for _, uid := range users() {
		t.Run(userName(uid), func(t *testing.T) {
			s := newStage(t, uid)
			level := s.ready()
			needAll(t, level)
			for _, second := range []bool{false, true} {
				before, after, told := s.attackInRun(-1, second, level)
				expectHeld(t, "strategy", before, after, told)
			}
			s.stop(syscall.SIGTERM)
			if left := s.left(); left != "" {
				t.Errorf("after the service %s are left", left)
			}
			s.unplant()
			for _, role := range []string{"probe", "connector"} {
				before, after, told := s.attackAtStart(role, "*")
				expectHeld(t, role, before, after, told)
			}
		})
	}
}

func expectHeld(t *testing.T, role string, before, after facts, told map[string]report) {
	t.Helper()
	tried := attack.Together(role)
	for _, a := range attack.List() {
		for _, name := range tried {
			if name != a.Name {
				continue
			}
			if v := judge(a, before, after, told[name]); !v.held {
				t.Errorf("%s: %s %s: %s (%s)", role, name, a.How, v.why, v.weight)
			}
		}
	}
}

// TestProveEveryAttackAlone makes each attack in a process of its own, and prints the table.
func TestProveEveryAttackAlone(t *testing.T) {
	ring.Proof(t, "it makes each attack alone, as each user")
	all := table{}
	for _, uid := range users() {
		t.Run(userName(uid), func(t *testing.T) {
			s := newStage(t, uid)
			level := s.ready()
			needAll(t, level)
			all.level(userName(uid), level)
			for i, a := range attack.List() {
				if a.Suits("strategy") && chosen(a, "strategy") {
					all.add(t, a, "strategy", uid, s.alone(i, a, level))
				}
			}
			for _, role := range []string{"probe", "connector"} {
				s := newStage(t, uid) // what one role has changed would hide what the next one does
				for _, batch := range batches(role) {
					for i, v := range s.atStart(role, batch) {
						all.add(t, batch[i], role, uid, v)
					}
				}
			}
		})
	}
	text := all.String()
	fmt.Println(text)
	if *tableFile != "" {
		if err := os.WriteFile(*tableFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// batches are the attacks of a role by starts of the service: each has a process of its own, but some are
// looked at together. Those that fill the process are not.
func batches(role string) [][]attack.Attack {
	const size = 12
	var list, alone [][]attack.Attack
	var plain, lies []attack.Attack
	for _, a := range attack.List() {
		switch {
		case !a.Suits(role) || !chosen(a, role):
		case a.Probe:
			lies = append(lies, a)
		case a.Alone:
			alone = append(alone, []attack.Attack{a})
		default:
			plain = append(plain, a)
		}
	}
	list = slices.AppendSeq(list, slices.Chunk(plain, size))
	list = slices.AppendSeq(list, slices.Chunk(lies, size))
	return append(list, alone...)
}

// atStart makes the attacks of one start. What seems not to be held is made again by itself: another one of
// the same start may have been it.
func (s *stage) atStart(role string, batch []attack.Attack) []verdict {
	names := make([]string, len(batch))
	for i, a := range batch {
		names[i] = a.Name
	}
	before, after, told := s.attackAtStart(role, names...)
	list := make([]verdict, len(batch))
	for i, a := range batch {
		if list[i] = judge(a, before, after, told[a.Name]); !list[i].held && len(batch) > 1 {
			s.t.Logf("%s: %s: beside others: %s", role, a.Name, list[i].why)
			list[i] = s.atStart(role, batch[i:i+1])[0]
		}
	}
	return list
}

// chosen reports whether an attack is among those of -attack and -role.
func chosen(a attack.Attack, role string) bool {
	return (*only == "" || slices.Contains(strings.Split(*only, ","), a.Name)) && (*onlyRole == "" ||
		*onlyRole == role)
}

// alone makes one attack in a run, and another run after it where it leaves a note.
func (s *stage) alone(number int, a attack.Attack, level string) verdict {
	if s.service == nil || !s.service.alive() {
		s.ready()
	}
	before, after, told := s.attackInRun(number, false, level)
	v := judge(a, before, after, told[a.Name])
	if a.Run && v.held {
		before, after, told = s.attackInRun(number, true, level)
		v = judge(a, before, after, told[a.Name])
	}
	if !v.held { // what it changed at the service must not be taken for the next one's
		s.stop(syscall.SIGTERM)
	}
	return v
}

// TestKilledServiceLeavesNothing: no process of a plugin survives a service that is killed, and the next
// start clears its folders away.
func TestKilledServiceLeavesNothing(t *testing.T) {
	for _, uid := range users() {
		t.Run(userName(uid), func(t *testing.T) {
			s := newStage(t, uid)
			level := s.ready()
			needAll(t, level)
			s.service.call("POST", "/run/backtest", object{"strategy_name": s.target.Mark,
				"symbols":   []string{"BTC/USDT"},
				"timeframe": "1h", "end_date": "2017-08-20", "strategy_params": object{"attack": -3}}, nil)
			for range 500 {
				if len(marked(s.target.Mark)) > 0 {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			if len(marked(s.target.Mark)) == 0 {
				t.Fatal("no process of the plugin was seen")
			}
			s.stop(syscall.SIGKILL)
			if left := s.left(); left != "" {
				t.Errorf("after the service %s are left", left)
			}
			if !s.start() {
				t.Fatalf("the service does not start again:\n%s", s.service.stderr.from(0))
			}
			if folders := s.socketFolders(); len(folders) > 0 {
				t.Errorf("after the next start %d folders are left: %v", len(folders), folders)
			}
			s.stop(syscall.SIGTERM)
		})
	}
}

func (s *stage) socketFolders() []string {
	var list []string
	for _, pattern := range []string{"as-*", "ac-*"} {
		found, _ := filepath.Glob(filepath.Join(s.dir, "tmp", pattern))
		list = append(list, found...)
	}
	return list
}

// table is what came of every attack.
type table struct {
	rows   map[string]map[string]verdict // by attack, then by role and user
	levels []string
}

func (t *table) level(user, level string) { t.levels = append(t.levels, user+": "+level) }

func (t *table) add(test *testing.T, a attack.Attack, role string, uid int, v verdict) {
	if t.rows == nil {
		t.rows = map[string]map[string]verdict{}
	}
	if t.rows[a.Name] == nil {
		t.rows[a.Name] = map[string]verdict{}
	}
	t.rows[a.Name][role+" "+userName(uid)] = v
	if !v.held {
		test.Errorf("%s: %s: %s (%s)", role, a.Name, v.why, v.weight)
	}
}

// String returns the table as Markdown.
func (t *table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Level of the sandbox: %s.\n\n", strings.Join(t.levels, "; "))
	b.WriteString(
		"| attack | strategy as root | as user | probe as root | as user | connector as root | as user " +
			"| seen or told |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|\n")
	held, tried := 0, 0
	for _, a := range attack.List() {
		if len(t.rows[a.Name]) == 0 {
			continue
		}
		fmt.Fprintf(&b, "| %s |", a.Name)
		why := map[string]bool{}
		note := ""
		for _, role := range roles {
			for _, user := range []string{"root", "user"} {
				v, made := t.rows[a.Name][role+" "+user]
				word := "-"
				if made {
					tried++
					word = "**not held**"
					if v.held {
						held++
						word = "held"
					}
					if text := strings.NewReplacer("|", "/", "\n", " ").Replace(v.why); !why[text] &&
						len(why) < 2 && text != "" {
						why[text] = true
						note += fmt.Sprintf("%.120s; ", text)
					}
				}
				fmt.Fprintf(&b, " %s |", word)
			}
		}
		fmt.Fprintf(&b, " %s |\n", strings.TrimSuffix(note, "; "))
	}
	fmt.Fprintf(&b, "\n%d of %d held.\n", held, tried)
	return b.String()
}
