// Package pyenv makes virtual environments for tests that need Python: public clients,
// statistics by other hands, the SDK for Python. The packages come from a lock file with
// hashes and are installed once for each of them, in the user's cache.
//
// It is small because that is all it does. Only tests import it.
package pyenv

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Interpreter returns the Python of an environment with what a lock file lists. The test ends
// where it cannot be made.
func Interpreter(t testing.TB, lock string) string {
	t.Helper()
	interpreter, why := install(t, lock)
	if why != "" {
		t.Fatal(why)
	}
	return interpreter
}

// InterpreterOrSkip is Interpreter for tests that are skipped without Python, or without a
// package index, unless ASSAY_E2E=required.
func InterpreterOrSkip(t testing.TB, lock string) string {
	t.Helper()
	interpreter, why := install(t, lock)
	switch {
	case why == "":
	case os.Getenv("ASSAY_E2E") == "required":
		t.Fatal(why)
	default:
		t.Skip(why)
	}
	return interpreter
}

func install(t testing.TB, lock string) (interpreter, why string) {
	t.Helper()
	list, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	base, err := exec.LookPath("python3")
	if err != nil {
		return "", "Python 3.11 or newer is needed: " + err.Error()
	}
	version, err := exec.CommandContext(t.Context(), base, "-VV").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(append(version, list...))
	dir := filepath.Join(cache, "assay-prove", hex.EncodeToString(sum[:8]))
	whole := filepath.Join(dir, "whole")
	interpreter = filepath.Join(dir, "bin", "python")
	if _, err := os.Stat(whole); err == nil {
		return interpreter, ""
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{base, "-m", "venv", dir},
		{interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes",
			"--no-deps", "-r", lock},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", strings.Join(args, " ") + ": " + err.Error() + "\n" + string(out)
		}
	}
	if err := os.WriteFile(whole, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return interpreter, ""
}
