package sample_test

import (
	"os"
	"testing"

	"github.com/assay-run/assay/host/candle/sample"
)

// The text beside this package is the one that programs show.
func TestAttribution(t *testing.T) {
	text, err := os.ReadFile("ATTRIBUTION.md")
	if err != nil || string(text) != sample.Attribution() {
		t.Errorf("ATTRIBUTION.md and plugin-sdk/sample/ATTRIBUTION.md differ: %v", err)
	}
}
