package evaluate

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/assay-run/assay/host/artifact"
)

// Stored is a run as its folder has it.
type Stored struct {
	Request  *artifact.Request
	Splits   *artifact.Splits
	Metadata *artifact.Metadata
	Report   *artifact.Report
}

// Stored reads a run, every file hashed again. The error is an
// *artifact.MismatchError when something has changed.
func (h *Host) Stored(runID string) (*Stored, error) {
	dir := h.Artifacts.Dir(runID)
	m, _, err := artifact.Verify(dir)
	if err != nil {
		return nil, err
	}
	s := &Stored{Metadata: m, Splits: &artifact.Splits{}}
	if s.Report, err = artifact.ReadReport(dir); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "request.json"))
	if err != nil {
		return nil, err
	}
	if s.Request, err = ReadRequest(text); err != nil {
		return nil, err
	}
	if text, err = os.ReadFile(filepath.Join(dir, "splits.json")); err != nil {
		return nil, err
	}
	return s, json.Unmarshal(text, s.Splits)
}
