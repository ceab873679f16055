package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// output is one file of the dashboard.
type output struct {
	name     string
	contents []byte
}

// build writes the dashboard into out and removes what an earlier build left there.
func build(root, out string) error {
	if err := verify(filepath.Join(root, "third_party")); err != nil {
		return err
	}
	bundled, err := bundle(root)
	if err != nil {
		return err
	}
	page, err := os.ReadFile(filepath.Join(root, "src", "index.html"))
	if err != nil {
		return err
	}
	files, err := assemble(page, bundled)
	if err != nil {
		return err
	}
	return place(out, files)
}

// assemble names the bundled files after their contents, so that a browser may keep
// them forever. Each name goes into the one file that loads it: into app.js, which is
// named after that, or into the page.
func assemble(page []byte, bundled []output) ([]output, error) {
	var files []output
	var library string
	for _, b := range bundled {
		var err error
		switch b.name {
		case "charts.js":
			library = `"./` + hashed(b) + `"`
		case "app.js":
			if b.contents, err = rename(b, `"`+charts+`"`, library); err != nil {
				return nil, err
			}
			fallthrough
		default:
			if page, err = rename(output{"index.html", page}, `"/ui/`+b.name+`"`, `"/ui/`+hashed(b)+`"`); err != nil {
				return nil, err
			}
		}
		files = append(files, output{hashed(b), b.contents})
	}
	return append(files, output{"index.html", page}), nil
}

// rename replaces a name that occurs exactly once.
func rename(in output, from, to string) ([]byte, error) {
	if n := bytes.Count(in.contents, []byte(from)); n != 1 {
		return nil, fmt.Errorf("%s names %s %d times, want once", in.name, from, n)
	}
	return bytes.Replace(in.contents, []byte(from), []byte(to), 1), nil
}

// hashed is the name with the start of the contents' SHA-256 before the extension.
func hashed(f output) string {
	sum := sha256.Sum256(f.contents)
	ext := filepath.Ext(f.name)
	return strings.TrimSuffix(f.name, ext) + "-" + hex.EncodeToString(sum[:])[:10] + ext
}

// built matches the names that this program gives.
var built = regexp.MustCompile(`^[a-z]+-[0-9a-f]{10}\.(js|css|svg)$`)

// place writes the files and then removes stale ones. Whatever else lies in the folder
// stays: a mistyped folder costs nothing.
func place(out string, files []output) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	fresh := map[string]bool{}
	for _, f := range files {
		fresh[f.name] = true
		if err := os.WriteFile(filepath.Join(out, f.name), f.contents, 0o644); err != nil {
			return err
		}
	}
	old, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	for _, e := range old {
		if built.MatchString(e.Name()) && !fresh[e.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(out, e.Name())))
		}
	}
	return err
}

// buildTests bundles src/unit.ts, which imports every unit test.
func buildTests(root, to string) error {
	script, err := bundleTests(root)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, script, 0o644)
}
