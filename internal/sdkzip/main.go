// Command sdkzip packs the SDK for strategies that live outside the checkout: the
// sources of plugin-sdk without their tests, with a go.mod and go.sum of their own,
// as one zip file that the lab embeds. Equal sources give equal bytes.
//
//	go run ./internal/sdkzip            writes lab/project/scaffold/sdk.zip
//	go run ./internal/sdkzip -check     compares, without network, and says what is stale
package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"time"
)

const target = "lab/project/scaffold/sdk.zip"

func main() {
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "sdkzip:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	files, err := sources()
	if err != nil {
		return err
	}
	if check {
		return compare(files)
	}
	if err := tidy(files); err != nil {
		return err
	}
	text, err := pack(files)
	if err != nil {
		return err
	}
	return os.WriteFile(target, text, 0o644)
}

// sources are the files of the SDK by slash separated path, and the licence.
func sources() (map[string][]byte, error) {
	files := map[string][]byte{}
	err := filepath.WalkDir("plugin-sdk", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		slash := filepath.ToSlash(path)
		wanted := strings.HasSuffix(slash, ".go") || strings.HasPrefix(slash, "plugin-sdk/sample/")
		if !wanted || strings.HasSuffix(slash, "_test.go") {
			return nil
		}
		files[slash], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		return nil, err
	}
	files["LICENSE"], err = os.ReadFile("LICENSE")
	return files, err
}

var requirement = regexp.MustCompile(`(?m)^\t(\S+) (v\S+)( // indirect)?$`)

// tidy adds the go.mod and go.sum that the SDK alone needs, at the versions of the
// checkout.
func tidy(files map[string][]byte) error {
	dir, err := os.MkdirTemp("", "sdkzip-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name, text := range files {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o644)); err != nil {
			return err
		}
	}
	root, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "go.mod"), root, 0o644), os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644)); err != nil {
		return err
	}
	cmd := exec.Command("go", "mod", "tidy")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go mod tidy: %w\n%s", err, out)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if files[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// pack is the zip of the files in order of their names, without times.
func pack(files map[string][]byte) ([]byte, error) {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
		method := zip.Deflate
		if strings.HasSuffix(name, ".gz") {
			method = zip.Store
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// compare holds the zip against the tree. Its go.mod must name the versions of the
// checkout.
func compare(files map[string][]byte) error {
	z, err := zip.OpenReader(target)
	if err != nil {
		return err
	}
	defer z.Close()
	stale := func(format string, args ...any) error {
		return fmt.Errorf(target+" is stale: "+format+"; run go run ./internal/sdkzip", args...)
	}
	for _, f := range z.File {
		text, err := read(f)
		if err != nil {
			return err
		}
		switch want, known := files[f.Name]; {
		case f.Name == "go.mod":
			if err := versions(text); err != nil {
				return stale("%v", err)
			}
		case f.Name == "go.sum":
		case !known:
			return stale("%s is not in the tree", f.Name)
		case !bytes.Equal(text, want):
			return stale("%s differs", f.Name)
		}
		delete(files, f.Name)
	}
	for name := range files {
		return stale("%s is missing", name)
	}
	return nil
}

func read(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func versions(mod []byte) error {
	root, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	have := map[string]string{}
	for _, m := range requirement.FindAllStringSubmatch(string(root), -1) {
		have[m[1]] = m[2]
	}
	for _, m := range requirement.FindAllStringSubmatch(string(mod), -1) {
		if have[m[1]] != "" && have[m[1]] != m[2] {
			return fmt.Errorf("go.mod has %s %s, the checkout %s", m[1], m[2], have[m[1]])
		}
	}
	return nil
}
