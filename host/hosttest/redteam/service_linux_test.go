package redteam

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/assay-run/assay/host/hosttest"
)

// service is a running assay.
type service struct {
	stage  *stage
	cmd    *exec.Cmd
	url    string
	stderr *logs
	exited chan struct{}
}

type logs struct{ hosttest.Buffer }

func (l *logs) from(at int) string {
	text := l.String()
	return text[min(at, len(text)):]
}

func (l *logs) size() int { return len(l.String()) }

// start starts the service; false reports whether it ended instead of listening.
func (s *stage) start() bool {
	s.t.Helper()
	v := &service{stage: s, stderr: &logs{}, exited: make(chan struct{})}
	v.cmd = exec.Command(filepath.Join(s.dir, "bin", "assay"), "--port", "0", "--state-dir", s.target.State,
		"--strategies", s.target.Strategies, "--connectors", filepath.Join(s.dir, "connectors"),
		"--log-level", "debug", "--sandbox", s.mode)
	v.cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + filepath.Join(s.dir, "tmp"),
		"HOME=" + s.target.Home,
		"REDTEAM_SECRET=SECRET-of-the-service"}
	v.cmd.SysProcAttr = s.attributes()
	v.cmd.Stderr = v.stderr
	v.cmd.Dir = s.dir
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.service = v
	first := make(chan string, 1)
	go func() {
		defer close(v.exited)
		in := bufio.NewScanner(out)
		if in.Scan() {
			first <- in.Text()
		}
		_, _ = io.Copy(io.Discard, out)
		_ = v.cmd.Wait()
	}()
	select {
	case line := <-first:
		v.url = strings.TrimPrefix(line, "assay listening on ") + "/api/v1"
		return true
	case <-v.exited:
	case <-time.After(time.Minute):
	}
	return false
}

// stop ends the service, if there is one.
func (s *stage) stop(sig syscall.Signal) {
	s.t.Helper()
	v := s.service
	if v == nil {
		return
	}
	s.service = nil
	_ = v.cmd.Process.Signal(sig)
	select {
	case <-v.exited:
	case <-time.After(20 * time.Second):
		_ = v.cmd.Process.Kill()
		<-v.exited
	}
}

func (v *service) alive() bool {
	select {
	case <-v.exited:
		return false
	default:
		return true
	}
}

var client = &http.Client{Timeout: 10 * time.Second}

// call makes a request; a service that does not answer gives status 0.
func (v *service) call(method, path string, body, out any) int {
	in := io.Reader(http.NoBody)
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			v.stage.t.Fatal(err)
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, v.url+path, in)
	if err != nil {
		v.stage.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if out != nil {
		_ = json.Unmarshal(text, out)
	}
	return resp.StatusCode
}

type object = map[string]any

// run plays a short backtest and returns how it ended, and the sandbox's level in its metadata.
func (v *service) run(strategy string, params object) (status, level string) {
	body := object{"strategy_name": strategy, "symbols": []string{"BTC/USDT"}, "timeframe": "1h",
		"end_date": "2017-08-20", "strategy_params": params}
	var answer struct {
		RunID string `json:"run_id"`
		Error struct{ Code, Message string }
	}
	if code := v.call("POST", "/run/backtest", body, &answer); code != http.StatusOK {
		return "not started: " + answer.Error.Code + " " + answer.Error.Message, ""
	}
	status = "timeout"
	for begin := time.Now(); time.Since(begin) < 90*time.Second &&
		v.alive(); time.Sleep(20 * time.Millisecond) {
		var now struct{ Status string }
		if v.call("GET", "/status", nil, &now); now.Status == "completed" || now.Status == "failed" {
			status = now.Status
			break
		}
	}
	v.call("DELETE", "/run/reset", nil, nil)
	var m struct {
		Volatile struct{ Environment struct{ Sandbox string } }
	}
	text := v.stage.contents("state/runs/" + answer.RunID + "/metadata.json")
	_ = json.Unmarshal([]byte(text), &m)
	return status, m.Volatile.Environment.Sandbox
}

// report is what a plugin says about an attack.
type report struct {
	begun, ended, done bool
	note               string
}

// reports reads what plugins said in the log since a position.
func (v *service) reports(from int, mark string) map[string]report {
	list := map[string]report{}
	for _, part := range strings.Split(v.stderr.from(from), "REDTEAM|"+mark+"|")[1:] {
		f := strings.Split(part, "|")
		if len(f) < 3 || f[1] == "" {
			continue
		}
		r := list[f[1]]
		note, _ := hex.DecodeString(f[2])
		switch f[0] {
		case "begin":
			r.begun = true
		case "done":
			r.ended, r.done, r.note = true, true, string(note)
		case "refused":
			r.ended, r.note = true, string(note)
		}
		list[f[1]] = r
	}
	return list
}
