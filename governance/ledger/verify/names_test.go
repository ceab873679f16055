package verify

import (
	"os"
	"path/filepath"
	"testing"
)

// TestEarlierNames: a hand-over that was sealed before types had permanent names still verifies.
func TestEarlierNames(t *testing.T) {
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join("..", "testdata", "before_names", name))
		check(t, err)
		return text
	}
	var files []File
	for _, name := range []string{"candidate_bundle.json", "candidate_bundle.dsse.json", "ingest_receipt.json",
		"candidate_bundle.sigstore.json", "candidate_bundle.tlog-proof"} {
		files = append(files, File{name, read(name)})
	}
	r := Verify(files, Options{Key: read("governance.pub"), TrustedRoot: read("trusted_root.json"),
		Trust: read("trust.json")})
	if !r.OK() {
		t.Errorf("failed: %v", r.Failed())
	}
}
