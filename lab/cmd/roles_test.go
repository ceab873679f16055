package cmd_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assay-run/assay/host/hosttest"
)

// buildRoles is the program of package host/hosttest/strategies, built once.
var buildRoles = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "assay-roles-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := hosttest.Build(dir, "v1", "host/hosttest/strategies"); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "strategies"))
})

// installPlugin writes the program of the roles, with the name at its end so that each has a
// hash of its own.
func installPlugin(name, to string) error {
	text, err := buildRoles()
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(text[:len(text):len(text)], name...), 0o755)
}

// mark ends a program that has been mended.
const mark = " mended"

// installProject makes the project of a role in a folder of its name, and beside the
// program one that has been mended: project panics.
func installProject(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: project ROLE")
	}
	ts.Check(makeProject(args[0], ts.MkAbs(args[0])))
}

func makeProject(name, dir string) error {
	for _, sub := range []string{"bin", "mended"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	program := filepath.Join(dir, "bin", name)
	if err := installPlugin(name, program); err != nil {
		return err
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	config := fmt.Sprintf(
		`{"schema":"lab/v1","slug":%q,"plugin":{"path":"bin/%s"},"exchange":"sample","symbols":["BTC/USDT"],"timeframe":"1h","data":{"end":"2018-03-01"},"stress":[]}`, name, name)
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "mended", name), append(text, mark...), 0o755),
		os.WriteFile(filepath.Join(dir, "lab.json"), []byte(config), 0o644),
	)
}
