package cmd_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/testvenue"
)

// child returns the process of a run whose program has a name.
func (s *service) child(name string) int {
	s.t.Helper()
	for _, pid := range plugins(s.t, s.cmd.Process.Pid) {
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); bytes.HasPrefix(line, []byte(name)) {
			return pid
		}
	}
	s.t.Fatalf("there is no process %s", name)
	return 0
}

// TestLiveIsProtected: whatever happens to a run that holds something, its exits stand at the venue, or
// stand there again: a service and a connector that were stopped for longer than the lease, a strategy that
// dies, the end of the service, a hand at the exchange, a market that is halted meanwhile.
func TestLiveIsProtected(t *testing.T) {
	t.Parallel()
	signal := func(t *testing.T, pid int, sig syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
	}
	do := func(t *testing.T, v *testvenue.Venue, action string, args ...string) {
		t.Helper()
		if err := v.Do(testvenue.Script{Action: action, Args: args}); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		args   []string
		happen func(t *testing.T, s *service, v *testvenue.Venue)
		ends   string // the run's status; empty: it trades on
	}{
		"the service stands still": {nil, func(t *testing.T, s *service, _ *testvenue.Venue) {
			signal(t, s.cmd.Process.Pid, syscall.SIGSTOP)
			time.Sleep(14 * time.Second)
			signal(t, s.cmd.Process.Pid, syscall.SIGCONT)
		}, ""},
		"the connector stands still": {nil, func(t *testing.T, s *service, _ *testvenue.Venue) {
			pid := s.child("binance")
			signal(t, pid, syscall.SIGSTOP)
			time.Sleep(25 * time.Second)
			signal(t, pid, syscall.SIGCONT)
		}, ""},
		"a lease that cancels all": {[]string{"--on-lease-loss", "all"},
			func(t *testing.T, s *service, _ *testvenue.Venue) {
				signal(t, s.cmd.Process.Pid, syscall.SIGSTOP)
				time.Sleep(14 * time.Second)
				signal(t, s.cmd.Process.Pid, syscall.SIGCONT)
			}, ""},
		"a hand at the exchange": {nil, func(t *testing.T, _ *service, v *testvenue.Venue) {
			for _, id := range openAt(v) {
				// of a pair the second is gone with the first
				_ = v.Do(testvenue.Script{Action: "manual_cancel", Args: []string{id}})
			}
		}, ""},
		"a market that is halted": {nil, func(t *testing.T, s *service, v *testvenue.Venue) {
			ids := openAt(v)
			do(t, v, "halt", "BTCUSDT")
			for _, id := range ids {
				_ = v.Do(testvenue.Script{Action: "manual_cancel", Args: []string{id}})
			}
			s.until("an alarm", func(status object) bool {
				return strings.Contains(fmt.Sprint(status["warnings"]), "POSITION_UNPROTECTED")
			})
			do(t, v, "resume", "BTCUSDT")
		}, ""},
		"the strategy dies": {nil, func(t *testing.T, s *service, _ *testvenue.Venue) {
			signal(t, s.child("rsi_bracket"), syscall.SIGKILL)
			s.await("failed")
		}, "failed"},
		"a stop": {nil, func(_ *testing.T, s *service, _ *testvenue.Venue) {
			s.call("POST", "/run/stop", nil, nil)
			s.await("completed")
		}, "completed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := liveVenue(t, testvenue.Options{Speed: 20})
			state := t.TempDir()
			s := serveLive(t, state, v, c.args...)
			s.start(holding())
			s.until("exits at the venue", func(object) bool { return len(openAt(v)) >= 2 })
			c.happen(t, s, v)
			deadline := time.Now().Add(time.Minute)
			for bareAt(v).Cmp(bareDust) > 0 && time.Now().Before(deadline) {
				time.Sleep(50 * time.Millisecond)
			}
			guardedAt(t, v)
			if c.ends == "" {
				s.until("trading", func(status object) bool { return status["phase"] == "trading" })
			}
			guardedAt(t, v)
			if code := s.end(syscall.SIGTERM); code != 0 {
				t.Errorf("exit code %d\n%s", code, s.stderr)
			}
			guardedAt(t, v)
			log := fmt.Sprint(s.stderr)
			for _, line := range strings.Split(log, "\n") {
				if strings.Contains(line, "run ended") &&
					(!strings.Contains(line, "Kept: ") || !strings.Contains(line, "Left open: as")) {
					t.Errorf("the last word on the run is %s", line)
				}
			}
			if !strings.Contains(log, "run ended") {
				t.Error("the end of the run is not in the log")
			}
		})
	}
}
