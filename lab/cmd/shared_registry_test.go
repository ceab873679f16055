package cmd_test

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assay-run/assay/host/base/bucket"
	"github.com/assay-run/assay/host/base/postgres"
	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// TestSharedRegistry: a team has one registry in PostgreSQL.
func TestSharedRegistry(t *testing.T) {
	ring.Proof(t, "it starts a server")
	server := hosttest.PostgresOrSkip(t)
	runScriptsWith(t, "testdata/shared_registry", func(env *testscript.Env) error {
		address, err := server.NewSchema()
		env.Setenv(postgres.Variable, address)
		return err
	})
}

// TestSharedFiles: the files of a team's runs are in a bucket, where a control plane reads them.
func TestSharedFiles(t *testing.T) {
	ring.Proof(t, "it starts a database and builds an S3 store")
	server := hosttest.PostgresOrSkip(t)
	python := filepath.Dir(hosttest.PythonOrSkip(t, "../../plugin-sdk/python/requirements.txt"))
	runScriptsWith(t, "testdata/shared_files", func(env *testscript.Env) error {
		env.Setenv("PATH", python+string(filepath.ListSeparator)+env.Getenv("PATH"))
		env.Vars = append(env.Vars, hosttest.CompiledPython(t))
		store := hosttest.OpenBucket(t)
		for name, value := range store.Env() {
			env.Setenv(name, value)
		}
		env.Setenv(bucket.Variable, store.Address())
		env.Setenv("STORE", store.Path(""))
		address, err := server.NewSchema()
		env.Setenv(postgres.Variable, address)
		return err
	})
}
