package exchange

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestOnlyTheListedVersionIsCertified(t *testing.T) {
	for _, c := range []struct {
		d    Description
		want bool
	}{
		{Description{ID: "binance", Version: "1.0.0", Kind: "native"}, true},
		{Description{ID: "binance", Version: "1.0.1", Kind: "native"}, false},
		{Description{ID: "binance", Kind: "native"}, false},
		{Description{ID: "binance", Version: "1.0.0", Kind: "bridge"}, false},
		{Description{ID: "other", Version: "1.0.0", Kind: "native"}, false},
		{Description{ID: "other", Kind: "native"}, false},
	} {
		if got := Certified(c.d); got != c.want {
			t.Errorf("%+v: %v", c.d, got)
		}
	}
}

// TestEveryCertificateHasItsCards: who is in the list has a conformance test that asks for the
// certificate, in its own package.
func TestEveryCertificateHasItsCards(t *testing.T) {
	for id := range certified() {
		text, err := os.ReadFile(filepath.Join(id, "conformance_test.go"))
		if err != nil || !bytes.Contains(text, []byte("func TestConformance(t *testing.T)")) ||
			!bytes.Contains(text, []byte("conformance.Certify(t,")) {
			t.Errorf("%s is in the list without a conformance test that certifies it: %v", id, err)
		}
	}
}
