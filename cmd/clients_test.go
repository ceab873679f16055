package cmd_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

const (
	clients = "testdata/clients"
	// oapiCodegen and oapiRuntime are pinned: a newer one may write another client.
	oapiCodegen = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"
	oapiRuntime = "github.com/oapi-codegen/runtime v1.9.0"
)

// generated is a client on its way: a folder, the document as the service serves it, and where
// the generators are.
type generated struct {
	*testing.T
	dir, document, python string
}

// do runs a program in the folder and returns what it printed.
func (g generated) do(name string, args ...string) string {
	g.Helper()
	cmd := exec.CommandContext(g.Context(), name, args...)
	cmd.Dir = g.dir
	// The generator is a jar and Python has Java for it; with -trimpath Go's library is compiled already.
	cmd.Env = append(os.Environ(), "PATH="+g.python+"/bin"+string(os.PathListSeparator)+os.Getenv("PATH"),
		"CGO_ENABLED=0", "GOFLAGS=-mod=mod -trimpath", "GOWORK=off")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		g.Fatalf(
			"%s %s: %v\n%s%s",
			name,
			strings.Join(args, " "),
			err,
			tail(out.String()),
			tail(errs.String()),
		)
	}
	return out.String()
}

func tail(text string) string { return text[max(0, len(text)-4000):] }

// put copies a client program into the folder.
func (g generated) put(from, to string) {
	g.Helper()
	text, err := os.ReadFile(filepath.Join(clients, from))
	if err == nil {
		err = os.WriteFile(filepath.Join(g.dir, to), text, 0o600)
	}
	if err != nil {
		g.Fatal(err)
	}
}

func (g generated) write(name, text string) {
	g.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600); err != nil {
		g.Fatal(err)
	}
}

func (g generated) generate(generator, into string, properties ...string) {
	g.Helper()
	args := []string{"generate", "-i", g.document, "-g", generator, "-o", into}
	for _, p := range properties {
		args = append(args, "-p", p)
	}
	g.do(filepath.Join(g.python, "bin", "openapi-generator-cli"), args...)
}

// node is the folder of the dashboard's Node tools; the test is skipped without them.
func (g generated) node() string {
	g.Helper()
	tools, err := filepath.Abs("../api/ui/node_modules/.bin")
	if err != nil {
		g.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(tools, "tsc")); err != nil {
		g.Skip("needs Node: run npm ci in api/ui")
	}
	return tools
}

// typescript checks and compiles a program with strict types, and runs it.
func (g generated) typescript(url string) string {
	g.Helper()
	g.write("package.json", `{"type":"module"}`)
	g.write("tsconfig.json", `{"compilerOptions":{"strict":true,"target":"es2022","module":"esnext",`+
		`"moduleResolution":"bundler","lib":["es2022","dom","dom.iterable"],"types":[],"outDir":"js"},`+
		`"files":["main.ts"]}`)
	g.do(filepath.Join(g.node(), "tsc"), "-p", ".")
	return g.do("node", "js/main.js", url)
}

// golang vets a program and runs it.
func (g generated) golang(url string, require ...string) string {
	g.Helper()
	mod := "module clients\n\ngo 1.26\n"
	for _, r := range require {
		mod += "\nrequire " + r + "\n"
	}
	g.write("go.mod", mod)
	if len(require) > 0 {
		g.do("go", "mod", "tidy")
	}
	g.do("go", "vet", "./...")
	return g.do("go", "run", ".", url)
}

// TestGeneratedClients: from the document that the service serves, public generators make clients
// that compile with strict types and drive a whole backtest, to the last digit.
func TestGeneratedClients(t *testing.T) {
	ring.Proof(t, "it installs generators and compiles six clients, about two minutes")
	lock, err := filepath.Abs(filepath.Join(clients, "requirements.txt"))
	if err != nil {
		t.Fatal(err)
	}
	python := filepath.Dir(filepath.Dir(hosttest.Python(t, lock)))
	s := serve(t, t.TempDir())
	document := filepath.Join(t.TempDir(), "openapi.json")
	_, text := s.request(http.MethodGet, "/openapi.json", nil)
	if err := os.WriteFile(document, text, 0o600); err != nil {
		t.Fatal(err)
	}
	strict := func(g generated) {
		g.do(filepath.Join(python, "bin", "mypy"), "--strict", "--follow-imports=silent", "main.py")
	}
	var first object
	for name, drive := range map[string]func(generated) string{
		"openapi-generator python": func(g generated) string {
			g.generate("python", ".", "packageName=assay_client", "generateSourceCodeOnly=true")
			g.put("openapi_generator.py", "main.py")
			strict(g)
			return g.do(filepath.Join(python, "bin", "python"), "main.py", s.url)
		},
		"openapi-generator typescript-fetch": func(g generated) string {
			g.node()
			g.generate("typescript-fetch", "client", "importFileExtension=.js")
			g.put("openapi_generator.ts", "main.ts")
			return g.typescript(s.url)
		},
		"openapi-generator go": func(g generated) string {
			g.generate("go", "client", "packageName=client", "withGoMod=false")
			if err := os.RemoveAll(filepath.Join(g.dir, "client", "test")); err != nil {
				g.Fatal(err)
			}
			g.put("openapi_generator.go.txt", "main.go")
			return g.golang(s.url)
		},
		"openapi-python-client": func(g generated) string {
			g.do(filepath.Join(python, "bin", "openapi-python-client"), "generate", "--path", g.document,
				"--output-path", "python_client", "--meta", "none")
			g.put("openapi_python_client.py", "main.py")
			strict(g)
			return g.do(filepath.Join(python, "bin", "python"), "main.py", s.url)
		},
		"oapi-codegen": func(g generated) string {
			if err := os.Mkdir(filepath.Join(g.dir, "client"), 0o700); err != nil {
				g.Fatal(err)
			}
			g.do("go", "run", oapiCodegen, "-generate", "types,client", "-package", "client", "-o",
				"client/client.go", g.document)
			g.put("oapi_codegen.go.txt", "main.go")
			return g.golang(s.url, oapiRuntime)
		},
		"openapi-typescript": func(g generated) string {
			g.do(filepath.Join(g.node(), "openapi-typescript"), g.document, "--default-non-nullable=false",
				"-o", "client/schema.ts")
			g.put("openapi_typescript.ts", "main.ts")
			return g.typescript(s.url)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var read object
			said := drive(generated{t, t.TempDir(), document, python})
			if err := json.Unmarshal([]byte(said), &read); err != nil {
				t.Fatalf("%v in %s", err, said)
			}
			if read["status"] != "completed" || read["idle"] != "idle" || read["after"] != "idle" ||
				read["no_error"] != true || read["api_version"] != "v1" || read["run_id"] == "" {
				t.Errorf("the client read %v", read)
			}
			delete(read, "run_id")
			if first == nil {
				first = read
			} else if want, got := keyed(first), keyed(read); !slices.Equal(want, got) {
				t.Errorf("the client read %v, another one %v", got, want)
			}
		})
	}
	if trades, _ := first["trades"].(float64); trades == 0 {
		t.Errorf("nothing was traded: %v", first)
	}
}

// keyed are the members of an object in one order.
func keyed(o object) []string {
	var out []string
	for k, v := range o {
		text, _ := json.Marshal(v)
		out = append(out, k+"="+string(text))
	}
	slices.Sort(out)
	return out
}
