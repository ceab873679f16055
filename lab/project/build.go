package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/digest"
)

// Built is a plugin ready to run.
type Built struct {
	Path string
	// SHA256 is of its bytes, SourceSHA256 of what it was built from: the sorted paths
	// and hashes of the folder's files, tests left out. It is empty for a program that
	// was not built here.
	SHA256, SourceSHA256 string
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

// Build makes the plugin in <state_dir>/build/<slug>, or finds the program that
// lab.json names. The error is ErrNoGo, a *BuildError or of the file system.
func (p *Project) Build(ctx context.Context, stateDir string) (Built, error) {
	if p.Config.Plugin.Path != "" {
		return Finished(filepath.Join(p.Dir, filepath.FromSlash(p.Config.Plugin.Path)))
	}
	stateDir, err := filepath.Abs(stateDir)
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
	built.SourceSHA256 = source
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
	cmd.Dir, cmd.Env = dir, append(os.Environ(), buildEnv...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &BuildError{Output: output.String()}
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
// not tests. Hidden files and folders and testdata do not count.
func SourceHash(dir string) (string, error) {
	type entry struct {
		Path   string `json:"path"`
		SHA256 string `json:"sha256"`
	}
	list := []entry{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		switch {
		case path != dir && strings.HasPrefix(name, "."), d.IsDir() && name == "testdata":
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case !d.Type().IsRegular() || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		sum, err := digest.File(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		list = append(list, entry{filepath.ToSlash(rel), sum})
		return err
	})
	if err != nil {
		return "", err
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.Path, b.Path) })
	return digest.Of(list)
}
