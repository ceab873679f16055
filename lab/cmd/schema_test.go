package cmd_test

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"

	"github.com/assay-run/assay/lab/cmd"
)

// schemas are what the page on the lab says of every object that it prints or stores,
// a file each: the envelope, the result of each command under its name, and the
// artifacts.
//
//go:embed testdata/schemas/*.json
var schemas embed.FS

const (
	schemaDir  = "testdata/schemas"
	schemaBase = "https://schemas.invalid/" // a name, never an address
)

// schema compiles one of them; the error is fs.ErrNotExist if there is none.
func schema(name string) (*jsonschema.Schema, error) {
	if _, err := fs.Stat(schemas, path.Join(schemaDir, name+".json")); err != nil {
		return nil, err
	}
	entries, err := schemas.ReadDir(schemaDir)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	for _, e := range entries {
		text, err := schemas.ReadFile(path.Join(schemaDir, e.Name()))
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		if err := c.AddResource(schemaBase+e.Name(), doc); err != nil {
			return nil, err
		}
	}
	return c.Compile(schemaBase + name + ".json")
}

func validate(name string, value any) error {
	s, err := schema(name)
	if err != nil {
		return err
	}
	if err := s.Validate(value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// validAnswer holds what a command with --json has printed against the envelope and the
// schema of its result.
func validAnswer(text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("not one JSON object: %w", err)
	}
	if err := validate("envelope", value); err != nil {
		return err
	}
	envelope := value.(map[string]any)
	command := fmt.Sprint(envelope["command"])
	result, ok := envelope["result"].(map[string]any)
	if !ok {
		return nil
	}
	name := strings.ReplaceAll(command, " ", "_")
	if _, isHelp := result["help"]; isHelp && len(result) == 1 {
		name = "help"
	}
	if strings.HasPrefix(command, "completion ") {
		name = "completion"
	}
	if command == "report" { // report.json is the form of the file
		name = "report_page"
	}
	return validate(name, result)
}

// checkedMain is the lab of the scripts: whatever it prints with --json must have its
// form, whichever script asks for it.
func checkedMain(args []string) int {
	env := cmd.IO{Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}
	var out bytes.Buffer
	if checked := slices.Contains(args, "--json") && !slices.Contains(args, "__complete"); !checked {
		return cmd.Main(context.Background(), args, env)
	}
	env.Out = io.MultiWriter(os.Stdout, &out)
	code := cmd.Main(context.Background(), args, env)
	if err := validAnswer(out.Bytes()); err != nil {
		fmt.Fprintf(os.Stderr, "lab %v: the object has not its form: %v\n", args, err)
		return 9
	}
	return code
}

// jsonSchema holds a JSON file, which a pattern may name, against one of the schemas:
// jsonschema report FILE; jsonschema envelope stdout.
func jsonSchema(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: jsonschema SCHEMA FILE")
	}
	files := []string{args[1]}
	if args[1] != "stdout" {
		var err error
		files, err = filepath.Glob(ts.MkAbs(args[1]))
		ts.Check(err)
	}
	if len(files) == 0 {
		ts.Fatalf("%s names no file", args[1])
	}
	for _, file := range files {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile(file)))
		ts.Check(err)
		if err := validate(args[0], value); (err != nil) != neg {
			ts.Fatalf("%s: %v", file, err)
		}
	}
}

// tree is every command that a person can call.
func tree(t *testing.T) []*cobra.Command {
	t.Helper()
	var list []*cobra.Command
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if list = append(list, c); c.Hidden {
			t.Errorf("%s is hidden", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(cmd.Commands(cmd.IO{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }}))
	return list
}

// Every command says what it does, in one line and in some, how it is called, and what
// each of its flags is for; its examples call it by its name.
func TestEveryCommandSaysWhatItDoes(t *testing.T) {
	all := tree(t)
	if len(all) < 20 {
		t.Fatalf("%d commands", len(all))
	}
	for _, c := range all {
		name := c.CommandPath()
		for what, text := range map[string]string{"Short": c.Short, "Long": c.Long, "Example": c.Example} {
			if len(text) < 5 || text != strings.TrimRight(text, " \n.") && what != "Long" ||
				strings.ContainsAny(text, "\t") {
				t.Errorf("%s: %s is %q", name, what, text)
			}
		}
		if strings.ContainsAny(c.Short, "\n") || len(c.Short) > 80 {
			t.Errorf("%s: Short is no line: %q", name, c.Short)
		}
		for line := range strings.Lines(c.Long) {
			if len(line) > 160 {
				t.Errorf("%s: a line of %d characters: %s", name, len(line), line)
			}
		}
		called := c.CommandPath()
		for line := range strings.Lines(c.Example) {
			if !strings.HasPrefix(line, "  ") || !strings.Contains(line, called) && !c.HasSubCommands() ||
				!strings.Contains(line, "lab ") {
				t.Errorf("%s: the example does not call it: %q", name, line)
			}
		}
		for line := range strings.Lines(c.LocalFlags().FlagUsages()) {
			if words := strings.Fields(line); len(words) < 3 {
				t.Errorf("%s: a flag says nothing of itself: %q", name, line)
			}
		}
	}
}

func TestEveryCommandHasASchema(t *testing.T) {
	used := map[string]bool{"common": true, "envelope": true, "help": true, "completion": true, "gaps": true}
	for _, artifact := range []string{"request", "report", "report_page", "metadata", "capsule"} {
		used[artifact] = true
	}
	for _, c := range tree(t) {
		command := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "lab"), " ")
		if c.HasSubCommands() || command == "help" || strings.HasPrefix(command, "completion ") {
			continue
		}
		name := strings.ReplaceAll(command, " ", "_")
		used[name] = true
		if _, err := schema(name); err != nil {
			t.Errorf("lab %s: %v", command, err)
		}
	}
	entries, err := schemas.ReadDir(schemaDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".json"); !used[name] && !strings.HasPrefix(name, "family") &&
			!strings.HasPrefix(name, "falsif") {
			t.Errorf("%s belongs to no command", e.Name())
		}
	}
}

// A schema that accepts anything proves nothing: each refuses what is not listed.
func TestSchemasRefuse(t *testing.T) {
	for _, text := range []string{
		`{"command":"run","ok":true,"exit_code":0,"result":{}}`,
		`{"command":"run","ok":true,"exit_code":1,"result":{},"warnings":[]}`,
		`{"command":"run","ok":false,"exit_code":2,"error":{"code":"USAGE","message":"m","details":{}}}`,
		`{"command":"run","ok":false,"exit_code":1,"error":{"code":"USAGE","message":"m","details":{"flag":"--x"}}}`,
		`{"command":"run","ok":false,"exit_code":4,"error":{"code":"NEW_CODE","message":"m","details":{}}}`,
		`{"command":"run","ok":false,"exit_code":4,"error":{"code":"INTERNAL","message":"m"}}`,
		`{"command":"runs list","ok":true,"exit_code":0,"result":{"runs":[{}]},"warnings":[]}`,
		`{"command":"runs list","ok":true,"exit_code":0,"result":{"runs":[],"more":1},"warnings":[]}`,
		`{"command":"runs list","ok":true,"exit_code":0,"result":{"runs":[]},"warnings":[]}{}`,
		`{"command":"new","ok":true,"exit_code":0,"result":{"a":1},"warnings":[]}`,
		``,
	} {
		if validAnswer([]byte(text)) == nil {
			t.Errorf("accepted: %s", text)
		}
	}
	for _, text := range []string{
		`{"command":"runs list","ok":true,"exit_code":0,"result":{"runs":[]},"warnings":[{"code":"X_Y","message":"m"}]}`,
		`{"command":"run","ok":false,"exit_code":2,"error":{"code":"USAGE","message":"m","details":{"flag":"--x"}}}`,
		`{"command":"run","ok":false,"exit_code":2,"error":{"code":"LAB_JSON_INVALID","message":"m","details":{"pointer":""}}}`,
	} {
		if err := validAnswer([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
