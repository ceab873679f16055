package redteam

//ring:beside an attack waits more than it computes

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/assay-run/assay/host/hosttest/redteam/attack"
)

var (
	sandboxMode = flag.String("sandbox", "auto", "sandbox of the service under attack")
	only        = flag.String("attack", "", "names of the attacks to be made alone, with commas between")
	onlyRole    = flag.String("role", "", "the kind of plugin that makes them: strategy, probe or connector")
	tableFile   = flag.String("table", "", "file for the table of what was tried")
)

// ordinary is a user that nobody else is.
const ordinary = 64_321

// users are those whom the service runs as here.
func users() []int {
	if os.Geteuid() == 0 {
		return []int{0, ordinary}
	}
	return []int{os.Geteuid()}
}

func userName(uid int) string {
	if uid == 0 {
		return "root"
	}
	return "user"
}

// verdict is what came of an attack.
type verdict struct {
	held   bool
	why    string // what was seen, or what the plugin was told
	weight string // what the verdict rests on
}

// judge compares facts before and after an attack with what the plugin says.
func judge(a attack.Attack, before, after facts, r report) verdict {
	if !r.begun {
		return verdict{false, "it was not tried: " + r.note, "its own word"}
	}
	if strings.HasPrefix(r.note, "there are no walls") {
		return verdict{false, r.note, "its own word"}
	}
	if after["service"] == "gone" {
		return verdict{false, "the service has ended", "outside"}
	}
	if a.Fact == "" {
		switch {
		case !r.ended:
			return verdict{true, "the process ended", "its own word"}
		case strings.Contains(r.note, "SECRET"):
			return verdict{false, "it read " + r.note, "outside"}
		}
		return verdict{!r.done, r.note, "its own word"}
	}
	if changes := before.changed(after, a.Fact); len(changes) > 0 {
		return verdict{false, strings.Join(changes, "; "), "outside"}
	}
	return verdict{true, r.note, "outside"}
}

// ready starts the service with the hostile strategy and lets it run once without an attack.
func (s *stage) ready() (level string) {
	s.t.Helper()
	s.plant("strategies", "strategy", "", "")
	if !s.start() {
		s.t.Fatalf("the service does not start:\n%s", s.service.stderr.from(0))
	}
	status, level := s.service.run(s.target.Mark, object{"attack": -2})
	if status != "completed" {
		s.t.Fatalf("a run without an attack: %s\n%s", status, s.service.stderr.from(0))
	}
	return level
}

// attackInRun lets the strategy make one attack, or with number -1 all that go together.
func (s *stage) attackInRun(number int, second bool,
	level string) (before, after facts, told map[string]report) {
	s.t.Helper()
	before = s.look()
	before["level"], before["left"] = level, ""
	at := s.service.stderr.size()
	w := s.watch("strategy")
	status, now := s.service.run(s.target.Mark, object{"attack": number, "second": second,
		"host": s.service.cmd.Process.Pid})
	left := s.left()
	after = s.look()
	w.end(after)
	after["level"], after["left"] = level, left
	if now != "" {
		after["level"] = now
	}
	told = s.service.reports(at, s.target.Mark)
	if len(told) == 0 {
		s.t.Logf("nothing was tried: %s\n%s", status, s.service.stderr.from(at))
	}
	return before, after, told
}

// left are the processes that are alive a second after their run.
func (s *stage) left() string {
	var pids []int
	for deadline := time.Now().Add(time.Second); ; time.Sleep(20 * time.Millisecond) {
		if pids = marked(s.target.Mark); len(pids) == 0 {
			return ""
		}
		if time.Now().After(deadline) {
			break
		}
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	return fmt.Sprintf("%d processes", len(pids))
}

// attackAtStart starts the service with files that attack when they are looked at, one for each name.
func (s *stage) attackAtStart(role string, names ...string) (before, after facts, told map[string]report) {
	s.t.Helper()
	folder := "strategies"
	if role == "connector" {
		folder = "connectors"
	}
	for i, name := range names {
		s.plant(folder, role, name, fmt.Sprintf("-%d", i))
	}
	defer s.unplant()
	before = s.look()
	for key, value := range s.baseline {
		if strings.HasPrefix(key, "service") {
			before[key] = value
		}
	}
	before["strategies"] = s.names()
	before["left"], before["level"] = "", ""
	w := s.watch(role)
	ok := s.start()
	left := s.left()
	after = s.look()
	w.end(after)
	after["left"], after["level"] = left, ""
	told = s.service.reports(0, s.target.Mark)
	if !ok || len(told) == 0 {
		s.t.Logf("%s %s:\n%s", role, names, s.service.stderr.from(0))
	}
	s.stop(syscall.SIGTERM)
	return before, after, told
}

func (s *stage) names() string {
	names, _ := filepath.Glob(s.target.Strategies + "/*")
	return strings.ReplaceAll(strings.Join(names, " "), s.target.Strategies+"/", "")
}
