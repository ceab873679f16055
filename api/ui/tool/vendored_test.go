package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// abc is the SHA-256 of "abc".
const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

func TestVerify(t *testing.T) {
	if err := verify("../third_party"); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		sums, file, want string
	}{
		"listed":     {abc + "  ./lib/a.mjs\n", "lib/a.mjs", ""},
		"not listed": {abc + "  ./lib/a.mjs\n", "lib/b.mjs", "is not in SHA256SUMS"},
		"changed":    {strings.Repeat("0", 64) + "  lib/a.mjs\n", "lib/a.mjs", "is not the file"},
		"missing": {abc + "  ./lib/a.mjs\n" + abc + "  ./lib/c.mjs\n", "lib/a.mjs",
			"lib/c.mjs is in SHA256SUMS and missing"},
		"empty":         {"", "lib/a.mjs", "is empty"},
		"no sum":        {"abc  ./lib/a.mjs\n", "lib/a.mjs", "not a line"},
		"outside":       {abc + "  ../a.mjs\n", "lib/a.mjs", "not a line"},
		"named twice":   {abc + "  ./lib/a.mjs\n" + abc + "  lib/a.mjs\n", "lib/a.mjs", "not a line"},
		"not delimited": {abc + " lib/a.mjs\n", "lib/a.mjs", "not a line"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "SHA256SUMS"), c.sums)
			write(t, filepath.Join(dir, "README.md"), "text")
			write(t, filepath.Join(dir, c.file), "abc")
			err := verify(dir)
			if c.want == "" && err != nil || c.want != "" &&
				(err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if err := verify(t.TempDir()); err == nil {
		t.Error("without a list")
	}
}
