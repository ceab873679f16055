package scaffold

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/lab/project"
)

//go:embed sdk.zip
var sdkZip []byte

// maxSDK bounds a file of the SDK; each is far below it.
const maxSDK = 16 << 20

// sdkFiles are the files of the SDK that this program brings along, by slash separated
// path.
func sdkFiles() (map[string][]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(sdkZip), int64(len(sdkZip)))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, f := range z.File {
		if !fs.ValidPath(f.Name) {
			return nil, fmt.Errorf("sdk.zip has the path %q", f.Name)
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.LimitReader(r, maxSDK))
		if err := errors.Join(err, r.Close()); err != nil {
			return nil, err
		}
		files[f.Name] = text
	}
	return files, nil
}

// Own is what the SDK that this program brings along says of itself.
func Own() (project.SDK, error) {
	files, err := sdkFiles()
	if err != nil {
		return project.SDK{}, err
	}
	return project.DecodeSDK(files[project.VersionFile])
}

// writeFiles writes files below a folder.
func writeFiles(dir string, files map[string][]byte) error {
	for name, text := range files {
		to := filepath.Join(dir, filepath.FromSlash(name))
		err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o644))
		if err != nil {
			return err
		}
	}
	return nil
}

// requirement is a module that the SDK needs.
type requirement struct{ Path, Version string }

// modFile is what the go.mod of the SDK says: its go version and what it requires.
func modFile(text []byte) (goVersion string, requires []requirement, err error) {
	mod, err := modfile.Parse("sdk/go.mod", text, nil)
	if err != nil {
		return "", nil, err
	}
	for _, r := range mod.Require {
		requires = append(requires, requirement{r.Mod.Path, r.Mod.Version})
	}
	slices.SortFunc(requires, func(a, b requirement) int { return strings.Compare(a.Path, b.Path) })
	return mod.Go.Version, requires, nil
}

// Change is the SDK of a folder before an update and after it.
type Change struct {
	// Before is nil where the folder held none.
	Before *project.SDK
	After  project.SDK
	// Edited says that the one before was not what it said it was.
	Edited bool
}

// Update puts the SDK of this program into the folder of a strategy, whatever is there, and
// has its go.mod take it from there. The error is project.ErrNoModule where the folder is no
// module of its own.
func Update(dir string) (*Change, error) {
	files, err := sdkFiles()
	if err != nil {
		return nil, err
	}
	c := &Change{}
	if c.After, err = project.DecodeSDK(files[project.VersionFile]); err != nil {
		return nil, err
	}
	to := filepath.Join(dir, project.SDKFolder)
	said, sum, err := project.ReadSDK(to)
	if err == nil {
		c.Before, c.Edited = &said, said.SHA256 != sum
	} else if taken, _ := os.ReadDir(to); len(taken) > 0 && !project.HoldsSDK(to) {
		return nil, &ExistsError{to}
	}
	mod, sums, err := renewed(dir, files)
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(dir, ".sdk-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	fresh, old := filepath.Join(temp, "new"), filepath.Join(temp, "old")
	if err := writeFiles(fresh, files); err != nil {
		return nil, err
	}
	if err := os.Rename(to, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.Rename(fresh, to); err != nil {
		return nil, err
	}
	err = file.Write(filepath.Join(dir, "go.sum"), sums, 0o644)
	return c, errors.Join(err, file.Write(filepath.Join(dir, "go.mod"), mod, 0o644))
}

// renewed are go.mod and go.sum of a folder for the SDK's files: at least the versions that
// it requires.
func renewed(dir string, files map[string][]byte) (mod, sums []byte, err error) {
	path := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, project.ErrNoModule
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := modfile.Parse(path, text, nil)
	if err != nil {
		return nil, nil, &project.BuildError{Problem: err.Error()}
	}
	goVersion, requires, err := modFile(files["go.mod"])
	if err != nil {
		return nil, nil, err
	}
	have := map[string]string{}
	for _, r := range f.Require {
		have[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range requires {
		switch version, known := have[r.Path]; {
		case !known:
			f.AddNewRequire(r.Path, r.Version, true)
		case semver.Compare(version, r.Version) < 0:
			err = errors.Join(err, f.AddRequire(r.Path, r.Version))
		}
	}
	if f.Go == nil || semver.Compare("v"+f.Go.Version, "v"+goVersion) < 0 {
		err = errors.Join(err, f.AddGoStmt(goVersion))
	}
	err = errors.Join(err, f.AddReplace(project.Module, "", "./"+project.SDKFolder, ""))
	if err != nil {
		return nil, nil, err
	}
	f.Cleanup()
	if mod, err = f.Format(); err != nil {
		return nil, nil, err
	}
	known, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	lines := slices.Collect(strings.Lines(string(known) + string(files["go.sum"])))
	slices.Sort(lines)
	return mod, []byte(strings.Join(slices.Compact(lines), "")), nil
}
