// Package prove marks the proofs that take longer than a test run may: make prove finds the packages whose
// tests import it and runs those of their tests whose names begin with TestProve. It imports nothing of the
// module.
package prove

import (
	"os"
	"testing"
)

// Variable is set by make prove.
const Variable = "ASSAY_PROVE"

// Only skips a test outside of make prove.
func Only(t testing.TB) {
	t.Helper()
	if os.Getenv(Variable) != "1" {
		t.Skip("make prove runs this")
	}
}
