package candidate

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
	strategybundle "github.com/assay-run/assay/host/proc/bundle"
	"github.com/assay-run/assay/lab/request"
)

// maxManifest bounds the list of files that a candidate shows, in bytes. The hash of the plugin stands
// for a longer one.
const maxManifest = 256 << 10

// manifestOf is the list of files and layers of a strategy that is a bundle, from its copy in the state
// directory; nil for a program, and where there is no copy.
func manifestOf(stateDir, sha256 string) (json.RawMessage, error) {
	f, err := os.Open(filepath.Join(stateDir, "plugins", sha256))
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil || !strategybundle.IsManifest(text) || len(text) > maxManifest {
		return nil, err
	}
	if digest.SHA256Hex(text) != sha256 {
		return nil, request.Errorf(request.CodeArtifactMismatch,
			"plugins/%s in the state directory was changed: run the strategy again to renew it", sha256)
	}
	_, err = strategybundle.Parse(text)
	return text, err
}

// checkManifest refuses a candidate that shows another list of files than the one its plugin is named by.
func checkManifest(b *bundle.Bundle) error {
	var shown struct {
		Manifest json.RawMessage `json:"plugin_manifest"`
	}
	if len(b.Extensions) == 0 || json.Unmarshal(b.Extensions, &shown) != nil || shown.Manifest == nil {
		return nil
	}
	text, err := digest.CanonicalJSON(shown.Manifest)
	if err != nil || digest.SHA256Hex(text) != b.Strategy.Plugin.SHA256 {
		return request.Errorf(request.CodeArtifactMismatch,
			"%s lists other files at /extensions/plugin_manifest than the plugin that it pins",
			b.CandidateRevisionID).With("pointer", "/extensions/plugin_manifest")
	}
	return nil
}
