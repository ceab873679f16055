package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/hosttest/ring"
)

// lines returns a file of figures in which every figure of the table is reached, in two tests.
func lines(soaked bool) []string {
	var list []string
	for _, f := range ring.Table() {
		n := f.Prove
		if soaked {
			n = f.Soak
		}
		for i, count := range []int{n / 2, n - n/2} {
			text, _ := json.Marshal(ring.Line{Figure: f.Name, Test: "Test" + string(rune('A'+i)),
				Count: count, Wanted: count, OS: "linux"})
			list = append(list, string(text))
		}
	}
	return list
}

func report(t *testing.T, list []string, at ring.Ring) (summary, string, error) {
	t.Helper()
	dir := t.TempDir()
	in, file := filepath.Join(dir, "figures"), filepath.Join(dir, "soak.json")
	if err := os.WriteFile(in, []byte(strings.Join(list, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := judgeFigures(in, at, file, summary{Date: "2026-11-21", Commit: "abc"}, &out)
	var s summary
	if text, fault := os.ReadFile(file); fault == nil {
		if err := json.Unmarshal(text, &s); err != nil {
			t.Error(err)
		}
	}
	return s, out.String(), err
}

func TestSums(t *testing.T) {
	list := lines(false)
	extra := `{"figure":"another","test":"TestB","count":3,"wanted":2,"os":"linux"}`
	s, shown, err := report(t, append([]string{extra}, list...), ring.Prove)
	if err != nil || s.Column != "prove" || s.Date != "2026-11-21" || s.Commit != "abc" || s.CPUs < 1 {
		t.Fatalf("%v %+v", err, s)
	}
	for i, f := range ring.Table() {
		if want := (sum{f.Name, f.Prove, f.Prove,
			[]string{"TestA", "TestB"}}); !reflect.DeepEqual(s.Figures[i], want) {
			t.Errorf("%+v, want %+v", s.Figures[i], want)
		}
	}
	if last := s.Figures[len(s.Figures)-1]; !reflect.DeepEqual(last,
		sum{"another", 3, 2, []string{"TestB"}}) {
		t.Errorf("%+v", last)
	}
	if strings.Count(shown, "\n") != len(s.Figures) {
		t.Errorf("%s", shown)
	}
	// Neither the order nor a second run of a test changes anything.
	back := append([]string{}, list...)
	for i, l := range list {
		back[len(list)-1-i] = l
	}
	again, _, err := report(t, append(append(back, back...), extra), ring.Prove)
	if err != nil || !reflect.DeepEqual(again, s) {
		t.Errorf("%v\n%+v\n%+v", err, again, s)
	}
}

func TestTooFew(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux: figures are held to the table there only")
	}
	list := lines(false)
	if _, _, err := report(t, list, ring.Soak); err == nil ||
		!strings.Contains(err.Error(), "model histories: 20000 of 1000000") {
		t.Errorf("a soak with the figures of a test: %v", err)
	}
	if s, _, err := report(t, lines(true), ring.Soak); err != nil || s.Column != "soak" {
		t.Errorf("a whole soak: %v", err)
	}
	for i := range list {
		if _, _, err := report(t, append(append([]string{}, list[:i]...), list[i+1:]...),
			ring.Prove); err == nil {
			t.Errorf("without %s nothing is missed", list[i])
		}
	}
	if s, _, err := report(t, nil, ring.Prove); err == nil || len(s.Figures) != len(ring.Table()) {
		t.Errorf("no figures at all: %v", err)
	}
}

func TestNoFigures(t *testing.T) {
	for _, bad := range []string{"{}", "x", `{"figure":"a","test":"T","count":"1"}`,
		`{"figure":"a","test":"T","more":1}`} {
		if _, _, err := report(t, []string{bad}, ring.Prove); err == nil ||
			!strings.Contains(err.Error(), "line 1 is no count") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(lines(false)[0] + "\n"))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		list, err := read(text)
		if err == nil {
			_ = short(add(list, ring.Prove))
		}
	})
}
