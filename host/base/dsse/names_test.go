package dsse_test

import (
	"testing"

	"github.com/assay-run/assay/host/base/dsse"
)

func TestPermanentType(t *testing.T) {
	for name, want := range map[string]string{
		"https://assay.example/seal/v1":                        dsse.TypeBase + "seal/v1",
		dsse.TypeBase + "seal/v1":                              dsse.TypeBase + "seal/v1",
		"application/vnd.run-control.deployable-registry+json": dsse.TypeRegistry,
		"https://assay.example":                                "https://assay.example",
		"https://other.example/seal/v1":                        "https://other.example/seal/v1",
		"":                                                     "",
	} {
		if got := dsse.PermanentType(name); got != want {
			t.Errorf("%q is %q, not %q", name, got, want)
		}
	}
	if got := dsse.PermanentType(dsse.EarlierType(dsse.TypeBase + "trust/v1")); got != dsse.TypeBase+"trust/v1" {
		t.Errorf("there and back: %q", got)
	}
}
