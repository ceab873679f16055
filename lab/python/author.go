package python

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed suspects.py
var suspectsScript string

// Suspects names by file and line what makes runs of a strategy differ, and counts its
// modules.
func Suspects(ctx context.Context, dir string) (files int, found []string, err error) {
	sources, err := SourceFiles(dir)
	if err != nil {
		return 0, nil, err
	}
	var modules [][2]string
	for _, f := range sources {
		if strings.HasSuffix(f.Path, ".py") {
			modules = append(modules, [2]string{filepath.Join(dir, filepath.FromSlash(f.Path)), f.Path})
		}
	}
	interpreter, err := find(Options{Dir: dir})
	if err != nil {
		return 0, nil, err
	}
	request, err := json.Marshal(modules)
	if err != nil {
		return 0, nil, err
	}
	cmd := exec.CommandContext(ctx, interpreter, "-I", "-B", "-c", suspectsScript, string(request))
	out, err := cmd.Output()
	if err != nil {
		return 0, nil, failf("%s cannot read the sources: %v", interpreter, err)
	}
	var answer struct {
		Files int      `json:"files"`
		Found []string `json:"found"`
	}
	err = json.Unmarshal(out, &answer)
	return answer.Files, answer.Found, err
}

// Exits of pytest that are no failure of a test.
const (
	pytestNoTests   = 5
	pytestNoProgram = 1
)

// labVariable names the program that matches for the tests of a strategy.
const labVariable = "ASSAY_LAB"

// Test runs the author's tests with pytest. none reports that there are none, or no pytest.
func Test(ctx context.Context, dir string, limit time.Duration) (output, none string, err error) {
	interpreter, err := find(Options{Dir: dir})
	if err != nil {
		return "", "", err
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(limited, interpreter, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider")
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	if self, err := os.Executable(); err == nil && os.Getenv(labVariable) == "" {
		cmd.Env = append(cmd.Environ(), labVariable+"="+self)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	switch code := cmd.ProcessState.ExitCode(); {
	case err == nil:
		return out.String(), "", nil
	case ctx.Err() != nil:
		return "", "", context.Cause(ctx)
	case limited.Err() != nil:
		return "", "", failf("the tests do not end within %v: look for an endless loop, or give them longer "+
			"with --test-timeout", limit)
	case code == pytestNoTests:
		return "", "there are no tests", nil
	case code == pytestNoProgram && strings.Contains(out.String(), "No module named pytest"):
		return "", "pytest is not installed: " + interpreter + " -m pip install pytest", nil
	}
	return out.String(), "", err
}

// MakeEnvironment makes .venv in a strategy's folder, and installs the SDK from its folder and
// more.
func MakeEnvironment(ctx context.Context, dir, sdk string, more ...string) error {
	interpreter, err := find(Options{Dir: dir})
	if err != nil {
		return err
	}
	own := filepath.Join(".venv", "bin", "python")
	for _, args := range [][]string{
		{interpreter, "-m", "venv", ".venv"},
		append([]string{own, "-m", "pip", "install", "-q", "--disable-pip-version-check", "./" + sdk},
			more...),
	} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir = dir
		if !filepath.IsAbs(args[0]) {
			cmd.Path = filepath.Join(dir, args[0])
		}
		out, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			return failf("%s failed: %s", strings.Join(args[:3], " "), lines[len(lines)-1])
		}
	}
	return nil
}
