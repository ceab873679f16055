// Command sdkzip packs the SDK for strategies that live outside the checkout: the
// sources of plugin-sdk without their tests, with a go.mod and go.sum of their own and a
// VERSION that names them, as one zip file that the lab embeds. Equal sources give equal bytes.
//
//	go run ./cmd/tools/sdkzip            writes lab/project/scaffold/sdk.zip
//	go run ./cmd/tools/sdkzip -check     compares, without network, and names what is stale
package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/assay-run/assay/lab/project"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/sim"
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
	if files[project.VersionFile], err = version(files); err != nil {
		return err
	}
	text, err := pack(files)
	if err != nil {
		return err
	}
	return os.WriteFile(target, text, 0o644)
}

// sources are the files of the SDK by slash separated path, with licence and notice. What
// only the host needs, tests and the sources of other languages stay behind.
func sources() (map[string][]byte, error) {
	fields := "-json=Dir,ImportPath,GoFiles,IgnoredGoFiles,EmbedFiles"
	out, err := exec.Command("go", "list", fields, "./plugin-sdk/...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	files := map[string][]byte{}
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir, ImportPath                     string
			GoFiles, IgnoredGoFiles, EmbedFiles []string
		}
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		folder := strings.TrimPrefix(p.ImportPath, project.Module+"/")
		if slices.Contains([]string{hostOnly, "plugin-sdk/sim/simtest", "plugin-sdk/python"}, folder) {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles, p.EmbedFiles) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(p.Dir, filepath.FromSlash(name)))
			if err != nil {
				return nil, err
			}
			files[folder+"/"+name] = text
		}
	}
	for name, from := range map[string]string{
		"LICENSE": "LICENSE", "NOTICE": "plugin-sdk/NOTICE",
		"plugin-sdk/sdktest/ATTRIBUTION.md": hostOnly + "/ATTRIBUTION.md",
	} {
		if files[name], err = os.ReadFile(from); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// hostOnly has the candles that every installation brings along.
const hostOnly = "plugin-sdk/sample"

// version returns the content of VERSION for these files.
func version(files map[string][]byte) ([]byte, error) {
	sum, err := project.HashFiles(files)
	return project.SDK{Version: sdk.Version, SimID: sim.ID(), SHA256: sum}.Encode(), err
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
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755),
			os.WriteFile(to, text, 0o644)); err != nil {
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
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "go.mod"), root, 0o644),
		os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644)); err != nil {
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

// pack returns the zip of the files in order of their names, without times.
func pack(files map[string][]byte) ([]byte, error) {
	noTime := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: noTime})
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
		return fmt.Errorf(target+" is stale: "+format+"; run go run ./cmd/tools/sdkzip", args...)
	}
	have := map[string][]byte{}
	for _, f := range z.File {
		text, err := read(f)
		if err != nil {
			return err
		}
		have[f.Name] = text
		switch want, known := files[f.Name]; {
		case f.Name == "go.mod":
			if err := versions(text); err != nil {
				return stale("%v", err)
			}
		case f.Name == "go.sum", f.Name == project.VersionFile:
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
	want, err := version(have)
	if err == nil && !bytes.Equal(have[project.VersionFile], want) {
		return stale("%s says other things than its files", project.VersionFile)
	}
	return err
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
