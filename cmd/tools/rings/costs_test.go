package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCostliestPackagesStandBeforeTheSummary(t *testing.T) {
	took := costs{}
	for i := range 12 {
		took.add(fmt.Appendf(nil, `{"Action":"pass","Package":"%s/p%02d","Elapsed":%d}`+"\n", module, i, i))
	}
	// A package that runs in two parts took the sum; seconds of tests are in those of their package.
	took.add([]byte(`{"Action":"output","Package":"x","Output":"\"Elapsed\""}
{"Action":"pass","Package":"x","Test":"TestA","Elapsed":50}
{"Action":"fail","Package":"` + module + `/p01","Elapsed":98.56}
no event, "Elapsed"
`))
	text := took.costliest()
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) != costly || lines[0] != "   99.6 s  p01" || lines[1] != "   11.0 s  p11" ||
		lines[9] != "    3.0 s  p03" {
		t.Errorf("%q", lines)
	}
	path := filepath.Join(t.TempDir(), "costliest")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for printed, want := range map[string]string{
		"ok\n\nDONE 12 tests in 3s\n": "ok\n\n" + text + "DONE 12 tests in 3s\n",
		"a test prints DONE 12 tests": "a test prints DONE 12 tests",
		"":                            "",
	} {
		var out bytes.Buffer
		if err := showSummary(&out, strings.NewReader(printed), path); err != nil || out.String() != want {
			t.Errorf("%v: %q, want %q", err, out.String(), want)
		}
	}
	var out bytes.Buffer
	if err := showSummary(&out, strings.NewReader("DONE 1 tests\n"), path+" is not there"); err != nil ||
		out.String() != "DONE 1 tests\n" {
		t.Errorf("%v: %q", err, out.String())
	}
}
