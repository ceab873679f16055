package python

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/assay-run/assay/plugin-sdk"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/proc/bundle"
)

// Version is that of the SDK, the same for every language.
const Version = sdk.Version

// left out of the standard library: tests, graphical parts, installers and documentation.
var left = []string{
	"test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data",
	"site-packages", "dist-packages", "__pycache__",
}

// layer makes a layer from what fill puts into a folder. One that is there already stays.
func layer(layers, name, version string, fill func(temp string) error) (bundle.Layer, error) {
	l := bundle.Layer{Name: name, Version: version}
	temp, err := os.MkdirTemp(layers, file.TempPrefix)
	if err != nil {
		return l, err
	}
	defer os.RemoveAll(temp)
	if err := fill(temp); err != nil {
		return l, err
	}
	list := bundle.List{Schema: bundle.LayerSchema}
	if list.Files, err = bundle.Scan(temp, func(string, fs.DirEntry) bool { return true }); err != nil {
		return l, err
	}
	text, err := bundle.Encode(list)
	if err != nil {
		return l, err
	}
	l.SHA256 = digest.SHA256Hex(text)
	if err := os.WriteFile(filepath.Join(temp, bundle.ListFile), text, 0o644); err != nil {
		return l, err
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return l, err
	}
	target := filepath.Join(layers, l.SHA256)
	err = os.Rename(temp, target)
	if _, exists := os.Stat(target); exists == nil {
		return l, nil
	}
	return l, err
}

// remembered returns the layer that was made from the same things before, named by a key.
func remembered(layers, key string, l bundle.Layer, make func() (bundle.Layer, error)) (bundle.Layer, error) {
	note := filepath.Join(layers, ".from-"+digest.SHA256Hex([]byte(key)))
	if sum, err := os.ReadFile(note); err == nil {
		l.SHA256 = string(sum)
		text, err := os.ReadFile(filepath.Join(layers, l.SHA256, bundle.ListFile))
		if err == nil && digest.SHA256Hex(text) == l.SHA256 {
			return l, nil
		}
	}
	l, err := make()
	if err != nil {
		return l, err
	}
	return l, file.Write(note, []byte(l.SHA256), 0o644)
}

// interpreterLayer has the interpreter, its library and the compiled standard library.
func interpreterLayer(ctx context.Context, layers string, p *probed) (bundle.Layer, error) {
	sum, err := digest.File(p.Executable)
	if err != nil {
		return bundle.Layer{}, err
	}
	info, err := os.Stat(p.Stdlib)
	if err != nil {
		return bundle.Layer{}, err
	}
	key := strings.Join([]string{
		"python", p.Version, sum, p.Stdlib, info.ModTime().UTC().String(), p.LibPython,
	}, "\x00")
	l := bundle.Layer{Name: "python", Version: p.Version}
	return remembered(layers, key, l, func() (bundle.Layer, error) {
		return layer(layers, l.Name, l.Version, func(temp string) error {
			if err := copyTo(p.Executable, temp, "bin/"+p.Short); err != nil {
				return err
			}
			if p.LibPython != "" {
				if err := copyTo(filepath.Join(p.LibDir, p.LibPython), temp, "lib/"+p.LibPython); err != nil {
					return err
				}
			}
			library := "lib/" + p.Short
			if err := copyLibrary(p.Stdlib, temp, library); err != nil {
				return err
			}
			return compile(ctx, p.Executable, filepath.Join(temp, library), library)
		})
	})
}

// copyLibrary copies the standard library without what no strategy needs.
func copyLibrary(from, temp, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == from {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && (slices.Contains(left, d.Name()) || strings.HasPrefix(d.Name(), "config-")):
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(name, ".pyc") || strings.HasSuffix(name, ".exe"):
			return nil
		}
		resolved, err := filepath.EvalSymlinks(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a link to nowhere, as Debian has them
		}
		if err != nil {
			return err
		}
		if info, err := os.Stat(resolved); err != nil || !info.Mode().IsRegular() {
			return err
		}
		return copyTo(resolved, temp, to+"/"+filepath.ToSlash(rel))
	})
}

// compile writes the code of modules beside them, so that no start compiles them. It is not
// compared with the sources when it is read: all files are hashed.
func compile(ctx context.Context, interpreter, dir, shown string, more ...string) error {
	args := []string{"-E", "-s", "-B", "-m", "compileall", "-q", "-j", "1", "--invalidation-mode",
		"unchecked-hash", "-s", dir, "-p", shown}
	cmd := exec.CommandContext(ctx, interpreter, append(append(args, more...), dir)...)
	cmd.Env = append(os.Environ(), "PYTHONHASHSEED=0")
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return failf("compile the modules of %s: %.300s", shown, out)
	}
	return nil
}

// distributionLayer has the files of one installed distribution, and its compiled modules: numpy
// and pandas take seconds to import without.
func distributionLayer(ctx context.Context, layers string, p *probed, d distribution) (bundle.Layer, error) {
	key := []string{"distribution", p.Version, d.Name, d.Version, d.Base}
	for _, f := range d.Files {
		info, err := os.Stat(filepath.Join(d.Base, f))
		if err != nil {
			return bundle.Layer{}, err
		}
		key = append(key, f, strconv.FormatInt(info.Size(), 10), info.ModTime().UTC().String())
	}
	l := bundle.Layer{Name: d.Name, Version: d.Version}
	return remembered(layers, strings.Join(key, "\x00"), l, func() (bundle.Layer, error) {
		return layer(layers, d.Name, d.Version, func(temp string) error {
			for _, f := range d.Files {
				if err := copyTo(filepath.Join(d.Base, f), temp, filepath.ToSlash(f)); err != nil {
					return err
				}
			}
			return compile(ctx, p.Executable, temp, d.Name, "-x", "/tests/")
		})
	})
}
