package hosttest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/base/file"
)

// Python returns an interpreter with the packages of a requirements.txt that locks them by their
// hashes. They are installed once for each lock, below the user's cache. Tests that ask for it
// belong to `make prove`.
func Python(t testing.TB, requirements string) string {
	t.Helper()
	interpreter, err := Environment(requirements)
	if err != nil {
		t.Fatalf("make prove needs Python 3.11 or newer: %v", err)
	}
	return interpreter
}

// PythonOrSkip is Python for tests of `make test`, which are skipped without it unless
// ASSAY_E2E=required.
func PythonOrSkip(t testing.TB, requirements string) string {
	t.Helper()
	interpreter, err := Environment(requirements)
	if err != nil && os.Getenv("ASSAY_E2E") != "required" {
		t.Skipf("Python 3.11 or newer with the packages of %s is needed: %v", requirements, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return interpreter
}

// CompiledPython is the variable of the environment by which Python keeps what it has compiled below the
// user's cache, and nothing of it beside the sources.
func CompiledPython(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return "PYTHONPYCACHEPREFIX=" + filepath.Join(cache, "assay-prove", "compiled")
}

// Environment makes a virtual environment with the packages of a requirements.txt, below the user's
// cache, unless it is there, and returns its interpreter.
func Environment(requirements string) (interpreter string, err error) {
	lock, err := os.ReadFile(requirements)
	if err != nil {
		return "", err
	}
	base, err := exec.LookPath("python3")
	if err != nil {
		return "", err
	}
	version, err := exec.Command(base, "-VV").Output()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(version, lock...))
	all := filepath.Join(cache, "assay-prove")
	dir := filepath.Join(all, hex.EncodeToString(sum[:8]))
	whole := filepath.Join(dir, "whole")
	interpreter = filepath.Join(dir, "bin", "python")
	if _, err := os.Stat(whole); err == nil {
		return interpreter, nil
	}
	locks := dir + ".lock"
	if err := os.MkdirAll(locks, 0o755); err != nil {
		return "", err
	}
	held, err := file.LockDir(locks) // tests of several packages may make it at once
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, held.Release()) }()
	if _, err := os.Stat(whole); err == nil {
		return interpreter, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{base, "-m", "venv", dir},
		// What is imported is compiled then: of a hundred packages that is little.
		{interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes",
			"--no-deps", "--no-compile", "-r", requirements},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return interpreter, os.WriteFile(whole, nil, 0o600)
}
