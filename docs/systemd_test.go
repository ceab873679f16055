package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/trade/engine"
)

// The units are such that systemd reads every line of them, and have the settings that
// docs/operators.md explains.
func TestUnits(t *testing.T) {
	unit := read(t, "systemd/assay.service")
	for _, line := range []string{"KillMode=process", "TimeoutStopSec=60", "OOMPolicy=continue",
		"Restart=on-failure", "StateDirectoryMode=0700"} {
		if !strings.Contains(unit, "\n"+line+"\n") {
			t.Errorf("assay.service lacks %s", line)
		}
	}
	for _, line := range []string{"\nRestrictNamespaces=", "\nSystemCallFilter=",
		"\nMemoryDenyWriteExecute="} {
		if strings.Contains(unit, line) {
			t.Errorf("assay.service has %q, which takes parts of the sandbox away", line)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs systemd-analyze on the PATH (package systemd)")
	}
	for _, name := range []string{"assay.service", "governance.service"} {
		// The programs are not installed here: any that is stands for them.
		text := regexp.MustCompile(`(?m)^ExecStart=/opt/assay/\S+`).ReplaceAllString(read(t, "systemd/"+name),
			"ExecStart=/bin/true")
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(analyze, "verify", path).CombinedOutput()
		if err != nil || strings.Contains(string(out), path) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// The manual's list of alarms is the program's, severities included.
func TestAlarmsAreThoseOfTheProgram(t *testing.T) {
	page := read(t, "operators.md")
	_, list, _ := strings.Cut(page, "\n### Alarms\n")
	list, _, _ = strings.Cut(list, "\n### ")
	said := map[string]alarm.Severity{}
	row := regexp.MustCompile("(?m)^\\| ((?:`[A-Z_]+`(?:, )?)+) \\| (critical|error|warning) \\|")
	for _, m := range row.FindAllStringSubmatch(list, -1) {
		for code := range strings.SplitSeq(m[1], ", ") {
			code = strings.Trim(code, "`")
			if _, twice := said[code]; twice {
				t.Errorf("%s is listed twice", code)
			}
			said[code] = alarm.Severity(m[2])
		}
	}
	for _, r := range engine.AlarmTable() {
		if said[r.Code] != r.Severity {
			t.Errorf("%s is of severity %s, docs/operators.md says %q", r.Code, r.Severity, said[r.Code])
		}
		delete(said, r.Code)
	}
	for code := range said {
		t.Errorf("docs/operators.md lists %s, which no run raises", code)
	}
}

// Every code with which live and paper runs warn, deny or fail is explained to operators.
func TestEveryAlarmIsExplained(t *testing.T) {
	page := read(t, "operators.md")
	code := regexp.MustCompile(`(?m)^\s+[A-Za-z]+(?: Code)? += "([A-Z]+_[A-Z_]+)"`)
	n := 0
	for _, pattern := range []string{"../host/trade/order/*.go", "../host/trade/order/oms/*.go",
		"../host/trade/engine/engine.go", "../host/trade/admission/*.go", "../host/trade/feed/*.go",
		"../host/trade/risk/guard.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			for _, m := range code.FindAllStringSubmatch(read(t, f), -1) {
				if n++; !strings.Contains(page, "`"+m[1]+"`") {
					t.Errorf("%s has %s, which docs/operators.md does not explain", f, m[1])
				}
			}
		}
	}
	if n < 25 {
		t.Errorf("only %d codes were found: does this test look in the right places?", n)
	}
}
