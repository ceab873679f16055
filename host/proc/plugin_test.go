package proc

import (
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	l := &Launch{Role: &Role{Noun: "strategy", Plural: "plugins", ProtocolVersion: 1}}
	r := &runner{config: Config{SocketDir: "/tmp/as-1/plugin-dir2"}}
	cert := "|" + strings.Repeat("A", 60)
	for line, want := range map[string]string{
		"": "",
		"1|1|unix|/tmp/as-1/plugin-dir2/plugin3|grpc" + cert:            "",
		"1|1|unix|/tmp/as-1/plugin-dir2/plugin3|grpc" + cert + "|false": "",
		"hello":        CodeWrongHandshake,
		"a|b|c|d|grpc": CodeWrongHandshake,
		"2|1|unix|/tmp/as-1/plugin-dir2/p|grpc" + cert:         CodeWrongHandshake,
		"1|2|unix|/tmp/as-1/plugin-dir2/p|grpc" + cert:         CodeWrongProtocol,
		"1|1|unix|/tmp/as-1/plugin-dir2/p":                     CodeWrongProtocol,
		"1|1|unix|/tmp/as-1/plugin-dir2/p|netrpc" + cert:       CodeWrongProtocol,
		"1|1|unix|/tmp/as-1/plugin-dir2/p|grpc|":               CodeWrongHandshake,
		"1|1|tcp|127.0.0.1:80|grpc" + cert:                     CodeWrongHandshake,
		"1|1|unix|/run/docker.sock|grpc" + cert:                CodeWrongHandshake,
		"1|1|unix|/tmp/as-1/plugin-dir2/../../x|grpc" + cert:   CodeWrongHandshake,
		"1|1|unix|/tmp/as-1/plugin-dir2/sub/dir/x|grpc" + cert: CodeWrongHandshake,
	} {
		got := ""
		if fault := l.judge(r, line); fault != nil {
			got = fault.Code
		}
		if got != want {
			t.Errorf("%.60q: got %q, want %q", line, got, want)
		}
	}
}

func TestQuotes(t *testing.T) {
	l := &Launch{Role: &Role{Noun: "connector", Quotes: true}}
	want := `is not an Assay connector: it begins with "2|1|a|b"`
	if fault := l.judge(&runner{}, "2|1|a|b"); fault.Message != want {
		t.Errorf("got %s, want %s", fault.Message, want)
	}
}

func TestRunning(t *testing.T) {
	var r Running[int]
	if !r.Add(1) || !r.Add(2) {
		t.Error("it takes none")
	}
	r.Remove(2)
	r.Close(func(n int) {
		if n != 1 {
			t.Errorf("%d is gone", n)
		}
	})
	if r.Add(3) {
		t.Error("it takes one after its end")
	}
}
