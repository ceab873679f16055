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
	"regexp"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/digest"
)

//go:embed sdk.zip
var sdkZip []byte

// maxSDK bounds what is unpacked; the SDK is far below it.
const maxSDK = 64 << 20

// Extract puts the SDK into <state_dir>/sdk/<sha256> unless it is there, and returns
// the folder. What is in the way and differs is put right.
func Extract(stateDir string) (string, error) {
	stateDir, err := filepath.Abs(stateDir)
	if err != nil {
		return "", err
	}
	root := filepath.Join(stateDir, "sdk")
	dir := filepath.Join(root, digest.SHA256Hex(sdkZip))
	z, err := zip.NewReader(bytes.NewReader(sdkZip), int64(len(sdkZip)))
	if err != nil {
		return "", err
	}
	if complete(dir, z) {
		return dir, nil
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(root, ".tmp-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	for _, f := range z.File {
		if err := unpack(temp, f); err != nil {
			return "", err
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	err = os.Rename(temp, dir)
	if err != nil && complete(dir, z) {
		err = nil // another lab has been faster
	}
	return dir, err
}

// complete says whether every file is there with its content.
func complete(dir string, z *zip.Reader) bool {
	for _, f := range z.File {
		want, err := content(f)
		if err != nil {
			return false
		}
		have, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Name)))
		if err != nil || !bytes.Equal(have, want) {
			return false
		}
	}
	return true
}

func content(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, maxSDK))
	return text, errors.Join(err, r.Close())
}

func unpack(dir string, f *zip.File) error {
	if !fs.ValidPath(f.Name) {
		return fmt.Errorf("sdk.zip has the path %q", f.Name)
	}
	text, err := content(f)
	if err != nil {
		return err
	}
	to := filepath.Join(dir, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}

var requirement = regexp.MustCompile(`(?m)^\t(\S+ v\S+)(?: // indirect)?$`)

// modFile is a file of the SDK's module: its go version and what it requires.
func modFile() (goVersion string, requires []string, sums []byte, err error) {
	z, err := zip.NewReader(bytes.NewReader(sdkZip), int64(len(sdkZip)))
	if err != nil {
		return "", nil, nil, err
	}
	text, err := fs.ReadFile(z, "go.mod")
	if err != nil {
		return "", nil, nil, err
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "go "); ok {
			goVersion = v
		}
	}
	for _, m := range requirement.FindAllStringSubmatch(string(text), -1) {
		requires = append(requires, m[1])
	}
	slices.Sort(requires)
	sums, err = fs.ReadFile(z, "go.sum")
	return goVersion, requires, sums, err
}
