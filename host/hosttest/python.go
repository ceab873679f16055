package hosttest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	all := filepath.Join(cache, "assay-prove")
	packages := environment{base, filepath.Join(all, nameOf(append(version, lock...)))}
	// One environment has pip, which takes five seconds to install, and fills the others.
	installer := environment{base, filepath.Join(all, "pip-"+nameOf(version))}
	// What is imported is compiled then: of a hundred packages that is little.
	install := []string{installer.interpreter(), "-m", "pip", "--python", packages.interpreter(), "install",
		"--quiet", "--disable-pip-version-check", "--require-hashes", "--no-deps", "--no-compile", "-r",
		requirements}
	if err := packages.ensure(func() error {
		if err := installer.ensure(func() error { return installer.make(nil) }); err != nil {
			return err
		}
		return packages.make(install, "--without-pip")
	}); err != nil {
		return "", err
	}
	return packages.interpreter(), nil
}

func nameOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

// environment is a virtual environment of an interpreter in a folder.
type environment struct{ base, dir string }

func (e environment) interpreter() string { return filepath.Join(e.dir, "bin", "python") }

func (e environment) whole() string { return filepath.Join(e.dir, "whole") }

// isWhole reports whether the environment was made to its end.
func (e environment) isWhole() bool {
	_, err := os.Stat(e.whole())
	return err == nil
}

// ensure makes the environment unless it is whole; tests of several packages may do so at once.
func (e environment) ensure(make func() error) (err error) {
	if e.isWhole() {
		return nil
	}
	locks := e.dir + ".lock"
	if err := os.MkdirAll(locks, 0o755); err != nil {
		return err
	}
	held, err := file.LockDir(locks)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Release()) }()
	if e.isWhole() {
		return nil
	}
	return make()
}

// make makes the environment anew and runs install, if there is one.
func (e environment) make(install []string, options ...string) error {
	if err := os.RemoveAll(e.dir); err != nil {
		return err
	}
	commands := [][]string{slices.Concat([]string{e.base, "-m", "venv"}, options, []string{e.dir})}
	if install != nil {
		commands = append(commands, install)
	}
	for _, args := range commands {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return os.WriteFile(e.whole(), nil, 0o600)
}
