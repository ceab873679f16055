package sandbox

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestParseMode(t *testing.T) {
	for in, want := range map[string]Mode{"": Auto, "auto": Auto, "off": Off, "require": Require} {
		if got, err := ParseMode(in); err != nil || got != want {
			t.Errorf("%q: got %q, %v", in, got, err)
		}
	}
	if _, err := ParseMode("On"); err == nil || !strings.Contains(err.Error(), "auto, off or require") {
		t.Errorf("got %v", err)
	}
}

func TestLevel(t *testing.T) {
	for want, missing := range map[string][]string{
		"full":                    nil,
		"partial:no_landlock":     {"no_landlock"},
		"partial:no_rlimits,this": {"no_rlimits", "this"},
	} {
		if got := level(missing); got != want {
			t.Errorf("%v: got %q, want %q", missing, got, want)
		}
	}
}

func TestWeaker(t *testing.T) {
	for _, c := range [][3]string{
		{"", "", ""}, {"full", "", "full"}, {"", "off", "off"}, {"full", "full", "full"},
		{"full", "off", "off"}, {"partial:a", "off", "off"},
		{"full", "partial:a", "partial:a"}, {"partial:b,c", "partial:a,b", "partial:a,b,c"},
	} {
		if ab, ba := Weaker(c[0], c[1]), Weaker(c[1], c[0]); ab != c[2] || ba != c[2] {
			t.Errorf("%q and %q: %q, %q, want %q", c[0], c[1], ab, ba, c[2])
		}
	}
}

func TestPolicyTravels(t *testing.T) {
	p := Policy{
		Require: true, Measure: true, Survives: true, Program: "/p", Binary: 3, Parent: 4, Status: 5,
		Host: map[string]string{"pid": "pid:[1]"},
		Rung: Rung{User: true, Root: true}, Refused: map[string]string{PartPID: "why"}, User: 9,
		SocketDir: "/s",
		ReadOnly:  []string{"/a", "/b c"}, Writable: "/w", Libraries: true, Network: true,
		Limits: DefaultLimits(),
	}
	line, err := p.Environ()
	if err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(line, "=")
	var got Policy
	if err := json.Unmarshal([]byte(value), &got); err != nil || name != envName ||
		!reflect.DeepEqual(got, p) {
		t.Errorf("got %s, %v", line, err)
	}
}
