package cli

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
)

type shared struct {
	Dir string `flag:"dir" usage:"where"`
}

type options struct {
	shared
	Kind  string        `flag:"kind" usage:"which" default:"a" values:"a,b"`
	Host  string        `flag:"host" usage:"on which" default:"here" env:"SOME_HOST"`
	Top   int           `flag:"top" usage:"how many" min:"1"`
	Wait  time.Duration `flag:"wait" usage:"how long" default:"2s"`
	Names []string      `flag:"name" usage:"who"`
	Roles []string      `flag:"role" usage:"what" split:","`
	Loud  bool          `flag:"loud" usage:"with noise"`
	other string
}

func parsed(t *testing.T, args ...string) (*options, *Flags) {
	t.Helper()
	o, c := &options{}, &cobra.Command{Use: "act"}
	s := BindFlags(c, o)
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return o, s
}

func TestBindFlags(t *testing.T) {
	o, _ := parsed(t)
	if o.Kind != "a" || o.Host != "here" || o.Wait != 2*time.Second || o.Top != 0 || o.other != "" {
		t.Errorf("the defaults are %+v", o)
	}
	o, _ = parsed(t, "--dir", "x", "--loud", "--wait", "1m", "--name", "a,b", "--name", "c", "--role", "a,b",
		"--top", "3")
	if o.Dir != "x" || !o.Loud || o.Wait != time.Minute || len(o.Names) != 2 || len(o.Roles) != 2 ||
		o.Top != 3 {
		t.Errorf("read %+v", o)
	}
}

func TestEnv(t *testing.T) {
	env := func(name string) (string, bool) { return "there", name == "SOME_HOST" }
	for _, c := range []struct {
		args         []string
		host, source string
	}{{nil, "there", "SOME_HOST"}, {[]string{"--host", "elsewhere"}, "elsewhere", "--host"}} {
		o, s := parsed(t, c.args...)
		if s.ReadEnv(env); o.Host != c.host || s.Source("host") != c.source {
			t.Errorf("%v: %s from %s", c.args, o.Host, s.Source("host"))
		}
	}
	_, s := parsed(t)
	if usage := s.command.Flag("host").Usage; usage != "on which [SOME_HOST]" {
		t.Errorf("the help is %q", usage)
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		name string
		min  int64
	}{
		{nil, "", 0}, {[]string{"--kind", "b", "--top", "1"}, "", 0},
		{[]string{"--kind", "c"}, "kind", 0}, {[]string{"--top", "0"}, "top", 1},
	} {
		_, s := parsed(t, c.args...)
		f, _, least := s.Refused()
		if name := nameOf(f); name != c.name || least != c.min {
			t.Errorf("%v: refused %q, at least %d", c.args, name, least)
		}
	}
}

func nameOf(f *Flag) string {
	if f == nil {
		return ""
	}
	return f.Name
}

func TestBadTag(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a number was taken for a duration")
		}
	}()
	BindFlags(&cobra.Command{Use: "act"}, &struct {
		Wait time.Duration `flag:"wait" default:"2"`
	}{})
}
