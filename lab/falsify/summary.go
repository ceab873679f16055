package falsify

import (
	"bytes"
	"encoding/json"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/search/selection"
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
	// Refuted are the sentences about the gates that failed; never null.
	Refuted []string `json:"refuted"`
	// Limit is what no verdict can say; absent in what older versions have written.
	Limit string `json:"limit,omitempty"`
	// Reasons are why the verdict is not better, beside the tests, and how the profile
	// deviates from the plan; absent where there is nothing to say.
	Reasons []judge.Reason `json:"reasons,omitempty"`
	// Ledger is the search that found the base.
	Ledger selection.Digest `json:"ledger"`
}

// ProfileRef names a profile.
type ProfileRef struct {
	ID     string `json:"id"`
	SHA256 string `json:"sha256"`
	// Planned is the profile that the plan of the base names where it is another one: a
	// deviation.
	Planned string `json:"planned,omitempty"`
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
	// Reasons are those of the summary.
	Reasons []judge.Reason `json:"reasons,omitempty"`
	Tests   []BriefTest    `json:"tests"`
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
	// Undefined has the reason of each p-value that is null.
	Undefined map[string]metric.Reason `json:"undefined,omitempty"`
}

func (s *Summary) brief() Brief {
	b := Brief{BaseRunID: s.BaseRunID, BaseRequestHash: s.BaseRequestHash, Profile: s.Profile, Overall: s.Overall, Refuted: s.Refuted, Reasons: s.Reasons, Tests: []BriefTest{}}
	for _, t := range s.Tests {
		why := map[string]metric.Reason{}
		for _, name := range []string{"p_value", "p_holm"} {
			if r := t.Undefined[name]; r != "" {
				why[name] = r
			}
		}
		b.Tests = append(b.Tests, BriefTest{t.ID, t.Class, t.Claim, t.Verdict, t.ReasonCode, t.PValue, t.PHolm, why})
	}
	return b
}
