package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "github.com/assay-run/assay/api/v1"
	"github.com/assay-run/assay/api/v1/problem"
)

const apiPage = "../docs/api.md"

// variable is a part of a path that the examples fill from a variable of the shell.
var variable = regexp.MustCompile(`\{(\w+)\}`)

// example is one fenced block of the page.
type example struct {
	language, text string
	line           int
}

func examples(t *testing.T) []example {
	t.Helper()
	page, err := os.ReadFile(apiPage)
	if err != nil {
		t.Fatal(err)
	}
	var all []example
	open := false
	for i, line := range strings.Split(string(page), "\n") {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !open:
			all = append(all, example{language: language, line: i + 1})
		case !fence && open:
			all[len(all)-1].text += line + "\n"
		}
		open = open != fence
	}
	return all
}

// TestAPIPageExamples runs every example of docs/api.md, in the order of the page,
// against the real service. Of an answer that the page shows each field must be in the
// real one, with a value of the same kind.
func TestAPIPageExamples(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "--strategies", allStrategies(t))
	folder := t.TempDir()
	var output []byte
	for _, e := range examples(t) {
		t.Run(fmt.Sprint(e.language, " line ", e.line), func(t *testing.T) {
			text := strings.ReplaceAll(e.text, "127.0.0.1:8000", strings.TrimPrefix(s.url, "http://"))
			if e.language == "json" {
				if output != nil {
					checkShown(t, e.text, output)
				}
				return
			}
			output = nil
			program := interpreter(t, e.language, s)
			if program == nil {
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, program[0], program[1:]...)
			cmd.Stdin, cmd.Dir = strings.NewReader(text), folder
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s%s", err, out, stderr.Bytes())
			}
			if e.language != "sh" {
				if !bytes.Contains(out, []byte("completed")) {
					t.Errorf("no run completed:\n%s%s", out, stderr.Bytes())
				}
				return
			}
			output = out
		})
	}
	s.await("idle")
}

// interpreter returns the command that reads an example from its input; nil for what is
// not to be run.
func interpreter(t *testing.T, language string, s *service) []string {
	t.Helper()
	var program []string
	switch language {
	case "sh":
		program = []string{"bash", "-euo", "pipefail"}
		if _, err := exec.LookPath("curl"); err != nil {
			t.Skip("needs curl on the PATH, to run the examples of docs/api.md")
		}
	case "python":
		program = []string{"python3", "-"}
	case "js", "js stream":
		program = []string{"node", "--input-type=module"}
	default:
		return nil
	}
	if _, err := exec.LookPath(program[0]); err != nil {
		t.Skipf("needs %s on the PATH, to run the examples of docs/api.md", program[0])
	}
	if program[0] != "node" {
		return program
	}
	major := nodeVersion(t)
	switch {
	case major < 20:
		t.Skip("needs Node 20 or newer, to run the examples of docs/api.md")
	case language == "js stream":
		if resp, err := http.Get(s.url + "/api/v1/ws/status"); err != nil ||
			resp.StatusCode == http.StatusNotFound {
			t.Fatalf("the service has no stream: %v", err)
		} else {
			resp.Body.Close()
		}
		if major < 22 {
			program = append(program, "--experimental-websocket")
		}
	}
	return program
}

func nodeVersion(t *testing.T) int {
	t.Helper()
	out, err := exec.Command("node", "--version").Output()
	if err != nil {
		t.Skipf("needs Node 20 or newer on the PATH: %v", err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		t.Skipf("needs Node 20 or newer; this one has version %s", out)
	}
	return n
}

// checkShown compares an answer as the page shows it with the real one.
func checkShown(t *testing.T, shown string, real []byte) {
	t.Helper()
	var want, got any
	if err := json.Unmarshal([]byte(shown), &want); err != nil {
		t.Fatalf("what the page shows is not JSON: %v", err)
	}
	if err := json.NewDecoder(bytes.NewReader(real)).Decode(&got); err != nil {
		t.Fatalf("%v in %s", err, real)
	}
	for _, fault := range differences("", want, got) {
		t.Errorf("%s\nthe service says %.600s", fault, real)
	}
}

func differences(at string, want, got any) []string {
	if fmt.Sprintf("%T", want) != fmt.Sprintf("%T", got) {
		return []string{fmt.Sprintf("%s: the page shows %T, the service says %T", at, want, got)}
	}
	var all []string
	switch want := want.(type) {
	case map[string]any:
		for k, v := range want {
			real, ok := got.(map[string]any)[k]
			if !ok {
				all = append(all, at+"/"+k+" is not in the answer")
				continue
			}
			all = append(all, differences(at+"/"+k, v, real)...)
		}
	case []any:
		if list := got.([]any); len(want) > 0 && len(list) > 0 {
			return differences(at+"/0", want[0], list[0])
		} else if len(want) > 0 {
			return []string{at + " is empty"}
		}
	case string:
		if k := at[strings.LastIndex(at, "/")+1:]; k == "code" || k == "stop_reason" {
			if want != got {
				return []string{fmt.Sprintf("%s is %v, the page shows %v", at, got, want)}
			}
		}
	}
	return all
}

// TestAPIPageIsComplete: every operation has its heading and an example, every error
// code is named.
func TestAPIPageIsComplete(t *testing.T) {
	page, err := os.ReadFile(apiPage)
	if err != nil {
		t.Fatal(err)
	}
	curls := ""
	for _, e := range examples(t) {
		if e.language == "sh" {
			curls += e.text
		}
	}
	var doc struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal(v1.OpenAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			if heading := strings.ToUpper(method) + " " + path; path != "/api/v1/ws/status" &&
				(!bytes.Contains(page, []byte(heading)) || !strings.Contains(curls, "127.0.0.1:8000"+variable.ReplaceAllString(path, "$$$1"))) {
				t.Errorf("%s has no heading or no example", heading)
			}
		}
	}
	for _, e := range problem.Table() {
		if !bytes.Contains(page, []byte("`"+string(e.Code)+"`")) {
			t.Errorf("%s is not named", e.Code)
		}
	}
}
