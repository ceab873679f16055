package hosttest

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Python returns an interpreter with the packages of a requirements.txt that locks them by their
// hashes. They are installed once for each lock, below the user's cache. Tests that ask for it
// belong to `make prove`.
func Python(t testing.TB, requirements string) string {
	t.Helper()
	lock, err := os.ReadFile(requirements)
	if err != nil {
		t.Fatal(err)
	}
	base, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("make prove needs Python 3.11 or newer: %v", err)
	}
	version, err := exec.CommandContext(t.Context(), base, "-VV").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(append(version, lock...))
	dir := filepath.Join(cache, "assay-prove", hex.EncodeToString(sum[:8]))
	whole := filepath.Join(dir, "whole")
	interpreter := filepath.Join(dir, "bin", "python")
	if _, err := os.Stat(whole); err == nil {
		return interpreter
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{base, "-m", "venv", dir},
		{interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes",
			"--no-deps", "-r", requirements},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if err := os.WriteFile(whole, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return interpreter
}
