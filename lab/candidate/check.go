package candidate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger/verify"
	"github.com/assay-run/assay/lab/request"
)

// The outcomes of a Check.
const (
	CheckPacked    = "packed"    // intact, and nothing has sealed it
	CheckSealed    = "sealed"    // the seal holds
	CheckUnchecked = "unchecked" // sealed, and nothing to check the seal with
	CheckFailed    = "failed"
)

// Checked is a revision of the store as it was read and verified.
type Checked struct {
	// Document is nil where the bundle is not what its folder is called, Receipt where there is none.
	Document *bundle.Document
	Receipt  []byte
	Outcome  string
	Problems []string
	Report   *verify.Report
}

// Check reads a revision and verifies bundle and seal, as far as the options name keys. The error is
// fs.ErrNotExist if there is none.
func (s *Store) Check(revision string, o verify.Options) (*Checked, error) {
	if !validRevision(revision) {
		return nil, fs.ErrNotExist
	}
	doc, err := s.Load(revision)
	var changed *request.Error
	if errors.As(err, &changed) {
		return &Checked{Outcome: CheckFailed, Problems: []string{changed.Message},
			Report: &verify.Report{}}, nil
	}
	if err != nil {
		return nil, err
	}
	c := &Checked{Document: doc, Outcome: CheckPacked}
	c.Receipt, err = s.receipt(revision)
	if err != nil {
		return nil, err
	}
	files := []verify.File{{Name: bundle.FileName, Data: doc.Canonical}}
	switch {
	case c.Receipt == nil:
		o = verify.Options{}
	case o.Key == nil || o.TrustedRoot == nil:
		c.Outcome, o = CheckUnchecked, verify.Options{}
	default:
		c.Outcome = CheckSealed
		files = append(files, verify.File{Name: ReceiptName, Data: c.Receipt})
	}
	if c.Report = verify.Verify(files, o); !c.Report.OK() {
		c.Outcome = CheckFailed
		for _, step := range c.Report.Steps {
			if !step.OK {
				c.Problems = append(c.Problems, step.Name+": expected "+step.Expected+", found "+step.Found)
			}
		}
	}
	return c, nil
}

// receipt is the answer of a control plane, nil before there is one.
func (s *Store) receipt(revision string) ([]byte, error) {
	path := filepath.Join(s.Dir(revision), ReceiptName)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && info.Size() > maxBundle {
		return []byte("{}"), nil // which is no receipt
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
