package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

func variables(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, p := range pairs {
			if k, v, _ := strings.Cut(p, "="); k == name {
				return v, true
			}
		}
		return "", false
	}
}

func TestBadOptionsEndWithTwo(t *testing.T) {
	refusal := "refusing to listen on 0.0.0.0: the API has no authentication. Put an authenticating proxy " +
		"in front and set " +
		"SERVICE_API_BEHIND_PROXY=1 and SERVICE_API_ALLOWED_HOSTS=<its name>"
	for _, c := range []struct {
		args, env []string
		want      string
	}{
		{[]string{"--port", "65536"}, nil, "--port"},
		{[]string{"--port", "x"}, nil, "--port"},
		{[]string{"--port=-1"}, nil, "--port"},
		{nil, []string{"SERVICE_API_PORT=80a"}, "SERVICE_API_PORT"},
		{[]string{"--log-level", "loud"}, nil, "--log-level"},
		{nil, []string{"SERVICE_LOG_LEVEL=INFO"}, "SERVICE_LOG_LEVEL"},
		{[]string{"--host", ""}, nil, "--host"},
		{[]string{"--host", "a b"}, nil, "a b"},
		{[]string{"--host", "no-such-host.invalid"}, nil, "does not resolve"},
		{[]string{"--host", "0.0.0.0"}, nil, refusal},
		{nil, []string{"SERVICE_API_HOST=0.0.0.0", "SERVICE_API_BEHIND_PROXY=1"}, refusal},
		{[]string{"--host", "0.0.0.0", "--allowed-host", "a.example"}, nil, refusal},
		{nil, []string{"SERVICE_API_BEHIND_PROXY=yes"}, "SERVICE_API_BEHIND_PROXY"},
		{[]string{"--allowed-host", "*.example"}, nil, "*.example"},
		{[]string{"--allowed-host", ""}, nil, `allowed host ""`},
		{nil, []string{"SERVICE_API_ALLOWED_HOSTS=,"}, `allowed host ""`},
		{[]string{"--allowed-host", "http://a.example"}, nil, "exact name"},
		{[]string{"--sandbox", "maybe"}, nil, "--sandbox"},
		{[]string{"--state-dir", ""}, nil, "--state-dir"},
		{[]string{"--max-upload", "0"}, nil, "--max-upload"},
		{nil, []string{"SERVICE_MAX_UPLOAD=2049"}, "from 1 to 2048"},
		{[]string{"--nothing"}, nil, "--nothing"},
		{[]string{"argument"}, nil, "argument"},
	} {
		var out, errs bytes.Buffer
		if code := runCommand(c.args, world{variables(c.env...), &out, &errs}); code != exitUsage ||
			!strings.Contains(errs.String(), c.want) || out.Len() > 0 {
			t.Errorf("%v %v: exit %d, %s", c.args, c.env, code, errs.String())
		}
	}
}

func TestOptionSources(t *testing.T) {
	read := func(args []string, env ...string) config {
		t.Helper()
		c, done, err := readConfig(args, world{variables(env...), &bytes.Buffer{}, &bytes.Buffer{}})
		if err != nil || done {
			t.Fatal(err, done)
		}
		return c
	}
	if c := read(nil, "SERVICE_API_HOST=", "SERVICE_API_PORT="); c.bind.Host != "127.0.0.1" ||
		c.bind.Port != 8000 || c.logLevel != hclog.Info || c.demo {
		t.Errorf("defaults: %+v", c)
	}
	if c := read(nil); filepath.Base(c.stateDir) != ".assay" || filepath.Base(c.strategies) != "strategies" ||
		!filepath.IsAbs(c.stateDir) {
		t.Errorf("folders: %+v", c)
	}
	env := []string{"SERVICE_API_HOST=::1", "SERVICE_API_PORT=1", "SERVICE_LOG_LEVEL=warn",
		"SERVICE_API_BEHIND_PROXY=true",
		"SERVICE_API_ALLOWED_HOSTS=a.example, b.example", "SERVICE_STATE_DIR=/s", "SERVICE_STRATEGIES=/p"}
	c := read(nil, env...)
	if c.bind.Host != "::1" || c.bind.Port != 1 || c.logLevel != hclog.Warn || !c.bind.BehindProxy ||
		c.stateDir != "/s" || c.strategies != "/p" ||
		!slices.Equal(c.bind.AllowedHosts, []string{"a.example", "b.example"}) {
		t.Errorf("environment: %+v", c)
	}
	c = read([]string{"--host", "localhost", "--port=2", "--log-level=trace", "--behind-proxy=0",
		"--allowed-host", "c", "--allowed-host", "d", "--demo"}, env...)
	if c.bind.Host != "localhost" || c.bind.Port != 2 || c.logLevel != hclog.Trace || c.bind.BehindProxy ||
		!c.demo ||
		!slices.Equal(c.bind.AllowedHosts, []string{"c", "d"}) {
		t.Errorf("flags: %+v", c)
	}
	if c := read([]string{"--behind-proxy"}); !c.bind.BehindProxy {
		t.Error("--behind-proxy needs no value")
	}
}

func TestHelpAndVersion(t *testing.T) {
	for arg, want := range map[string]string{"--help": "SERVICE_API_ALLOWED_HOSTS", "--version": version} {
		var out, errs bytes.Buffer
		if code := runCommand([]string{arg}, world{variables(), &out, &errs}); code != exitDone ||
			!strings.Contains(out.String(), want) {
			t.Errorf("%s: %d %s", arg, code, out.String())
		}
	}
}

func TestServerID(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_123)
	a, err := serverID(at)
	if err != nil {
		t.Fatal(err)
	}
	b, err := serverID(at.Add(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if len(a) != 26 || a[:10] != "01hf7yat3v" || a >= b {
		t.Errorf("%s, then %s", a, b)
	}
}
