package falsify

import (
	"bytes"
	"encoding/json"

	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/selection"
)

const (
	summarySchema = "falsification/v1"
	summaryName   = "falsify/summary.json"
)

// Summary is falsify/summary.json: falsification/v1.
type Summary struct {
	Schema          string     `json:"schema"`
	BaseRunID       string     `json:"base_run_id"`
	BaseRequestHash string     `json:"base_request_hash"`
	Profile         ProfileRef `json:"profile"`
	// Seed is the root of all random numbers, a decimal number as text.
	Seed    string        `json:"seed"`
	Tests   []*judge.Test `json:"tests"`
	Overall judge.Verdict `json:"overall"`
	// Refuted are the claims of the gates that failed, with what was found; never null.
	Refuted []string `json:"refuted"`
	// Ledger is the search that found the base.
	Ledger selection.Digest `json:"ledger"`
}

// ProfileRef names a profile.
type ProfileRef struct {
	ID     string `json:"id"`
	SHA256 string `json:"sha256"`
}

func (s *Summary) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(s)
	return b.Bytes(), err
}

// Brief is the falsification of report.json.
type Brief struct {
	BaseRunID       string        `json:"base_run_id"`
	BaseRequestHash string        `json:"base_request_hash"`
	Profile         ProfileRef    `json:"profile"`
	Overall         judge.Verdict `json:"overall"`
	Refuted         []string      `json:"refuted"`
	Tests           []BriefTest   `json:"tests"`
}

// BriefTest is one test in a report.
type BriefTest struct {
	ID         string        `json:"id"`
	Class      judge.Class   `json:"class"`
	Claim      string        `json:"claim"`
	Verdict    judge.Verdict `json:"verdict"`
	ReasonCode string        `json:"reason_code"`
	PValue     *float64      `json:"p_value"`
	PHolm      *float64      `json:"p_holm"`
}

func (s *Summary) brief() Brief {
	b := Brief{BaseRunID: s.BaseRunID, BaseRequestHash: s.BaseRequestHash, Profile: s.Profile, Overall: s.Overall, Refuted: s.Refuted, Tests: []BriefTest{}}
	for _, t := range s.Tests {
		b.Tests = append(b.Tests, BriefTest{t.ID, t.Class, t.Claim, t.Verdict, t.ReasonCode, t.PValue, t.PHolm})
	}
	return b
}
