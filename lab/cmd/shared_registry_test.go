package cmd_test

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

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
