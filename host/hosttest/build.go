package hosttest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"

	"github.com/assay-run/assay/host/base/file"
)

const module = "github.com/assay-run/assay/"

// ProgramsVariable names the folder in which [Build] leaves programs for other packages' tests.
const ProgramsVariable = "ASSAY_PROGRAMS"

// Build builds programs of this module, named by their folders in it, for a level of GOAMD64
// into dir. In a ring what was linked before is copied: the Go tool, which compares what went into a
// program, links it anew when it has to.
func Build(dir, amd64 string, programs ...string) (err error) {
	to := dir
	if all := os.Getenv(ProgramsVariable); all != "" {
		to = filepath.Join(all, amd64)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		held, err := file.LockDir(to)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, held.Release()) }()
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-o", to + string(filepath.Separator)}
	for _, p := range programs {
		args = append(args, module+p)
	}
	cmd := exec.Command("go", args...)
	cmd.Env = slices.Concat(os.Environ(), []string{"CGO_ENABLED=0", "GOAMD64=" + amd64})
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	if to == dir {
		return nil
	}
	// Tests damage what they are given: it is a copy. Another process writes it, so that no fork of this
	// one has it open when it is executed.
	var files []string
	for _, p := range programs {
		files = append(files, filepath.Join(to, path.Base(p)))
	}
	if out, err := exec.Command("cp", append(files, dir)...).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w\n%s", err, out)
	}
	return nil
}
