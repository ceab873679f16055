package project

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/base/digest"
)

// Built is a plugin ready to run.
type Built struct {
	Path string
	// SHA256 is of its bytes, SourceSHA256 of what it was built from: the sorted paths
	// and hashes of the folder's files, tests left out. It is empty for a program that
	// was not built here.
	SHA256, SourceSHA256 string
	// SDKSHA256 is of the SDK inside the folder, "" where it is elsewhere; SDKEdited says
	// that it is not what it says it is.
	SDKSHA256 string
	SDKEdited bool
}

// BuildError says that there is no plugin: the Go tool refused, and Output is what it
// printed, or Problem says what is wrong with a finished program.
type BuildError struct{ Output, Problem string }

// Error is the problem, or the tool's first lines.
func (e *BuildError) Error() string {
	if e.Problem != "" {
		return e.Problem
	}
	lines := strings.SplitN(strings.TrimSpace(e.Output), "\n", 12)
	return "go build failed:\n" + strings.Join(lines[:min(len(lines), 11)], "\n")
}

// ErrNoGo says that there is no Go tool.
var ErrNoGo = errors.New("the go command is not on the PATH: install Go from https://go.dev/dl, or name a finished program in lab.json: \"plugin\": {\"path\": \"bin/x\"}")

// flags of every build: nothing of the machine or the folder gets into the bytes.
var (
	buildFlags = []string{"-trimpath", "-buildvcs=false"}
	buildEnv   = []string{"CGO_ENABLED=0", "GOAMD64=v1"}
)

// BuildEnv is the environment of every build and test, so that what one has compiled the
// other need not.
func BuildEnv() []string { return append(os.Environ(), buildEnv...) }

// IsFirstBuild reports whether nothing of the strategy was built in a state directory
// before, so that the SDK may have to be compiled, too.
func (p *Project) IsFirstBuild(stateDir string) bool {
	_, err := os.Stat(filepath.Join(stateDir, "build", p.Slug))
	return p.Config.Plugin.Path == "" && errors.Is(err, fs.ErrNotExist)
}

// Build makes the plugin in <state_dir>/build/<slug>, or finds the program that
// lab.json names. The error is ErrNoGo, a *BuildError or of the file system.
func (p *Project) Build(ctx context.Context, stateDir string) (Built, error) {
	if p.Config.Plugin.Path != "" {
		return Finished(filepath.Join(p.Dir, filepath.FromSlash(p.Config.Plugin.Path)))
	}
	sdk, edited, err := sdkOf(p.Slug, p.Dir)
	if err != nil {
		return Built{}, err
	}
	stateDir, err = filepath.Abs(stateDir)
	if err != nil {
		return Built{}, err
	}
	folder := filepath.Join(stateDir, "build")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return Built{}, err
	}
	// Beside its place first: another lab may be starting the program that is there.
	temp, err := os.MkdirTemp(folder, ".tmp-")
	if err != nil {
		return Built{}, err
	}
	defer os.RemoveAll(temp)
	made := filepath.Join(temp, p.Slug)
	if err := Compile(ctx, p.Dir, made); err != nil {
		return Built{}, err
	}
	source, err := SourceHash(p.Dir)
	if err != nil {
		return Built{}, err
	}
	path := filepath.Join(folder, p.Slug)
	if err := os.Rename(made, path); err != nil {
		return Built{}, err
	}
	built, err := Finished(path)
	built.SourceSHA256, built.SDKSHA256, built.SDKEdited = source, sdk, edited
	return built, err
}

// Compile builds the program of a folder, with further switches. The error is ErrNoGo, a
// *BuildError or that of the context.
func Compile(ctx context.Context, dir, to string, switches ...string) error {
	tool, err := exec.LookPath("go")
	if err != nil {
		return ErrNoGo
	}
	cmd := exec.CommandContext(ctx, tool, slices.Concat([]string{"build"}, buildFlags, switches,
		[]string{"-o", to, "."})...)
	cmd.Dir, cmd.Env = dir, BuildEnv()
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &BuildError{Output: cmp.Or(strings.TrimSpace(output.String()), err.Error())}
	}
	return nil
}

// Finished is a program that is there already. The error is a *BuildError if it is not.
func Finished(path string) (Built, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Built{}, &BuildError{Problem: fmt.Sprintf("the plugin %s cannot be read: %v", path, err)}
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return Built{}, &BuildError{Problem: fmt.Sprintf("%s is not an executable file", path)}
	}
	sum, err := digest.File(path)
	return Built{Path: path, SHA256: sum}, err
}

// SourceHash is the hash of the sorted (path, sha256) of the folder's files that are
// not tests. Hidden files and folders, testdata and the SDK do not count.
func SourceHash(dir string) (string, error) {
	list, err := hashFolder(dir, func(rel string, d fs.DirEntry) bool {
		if d.IsDir() {
			return d.Name() != "testdata" && (rel != SDKFolder || !HoldsSDK(filepath.Join(dir, rel)))
		}
		return !strings.HasSuffix(rel, "_test.go")
	})
	if err != nil {
		return "", err
	}
	return hashList(list)
}
