package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/ledger/verify"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
)

// SchemaReceipt is the schema of a receipt.
const SchemaReceipt = "ingest-receipt/v1"

// Receipt is ingest-receipt/v1: what became of a post. Its seal was verified; the rest is
// the plane's word.
type Receipt struct {
	CandidateRevisionID string       `json:"candidate_revision_id"`
	FileSHA256          string       `json:"file_sha256"`
	Duplicate           bool         `json:"duplicate"`
	Assurance           string       `json:"assurance"`
	Rungs               []string     `json:"rungs"`
	Facts               []FactName   `json:"facts"`
	FactsTotal          int          `json:"facts_total"`
	Seal                *ledger.Seal `json:"-"`
	State               Standing     `json:"promotion_state"`
	PendingExperiments  int          `json:"pending_experiments"`
	Warnings            []Warning    `json:"warnings"`
	// Body is the answer as it came: the content of ingest_receipt.json.
	Body []byte `json:"-"`
}

// FactName names a fact that the post has made; RunID is empty for most.
type FactName struct {
	Seq    int64  `json:"seq"`
	Type   string `json:"type"`
	FactID string `json:"fact_id"`
	RunID  string `json:"run_id"`
}

// Standing is where the revision stands now.
type Standing struct {
	Stage       string `json:"stage"`
	StageStatus string `json:"stage_status"`
	Href        string `json:"href"`
}

// Warning is something that did not refuse the post.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Pointer string `json:"pointer"`
}

// SealFiles are the seal as files beside a bundle: what cosign and tlog tools read.
type SealFiles struct {
	Sigstore []byte // candidate_bundle.sigstore.json
	Proof    []byte // candidate_bundle.tlog-proof
}

// Files splits the receipt's seal.
func (r *Receipt) Files() (SealFiles, error) {
	text, err := r.Seal.Sigstore.Canonical()
	return SealFiles{Sigstore: text, Proof: []byte(r.Seal.TlogProof)}, err
}

// Ingest posts a bundle with attestations about it and checks the answer: that the receipt
// is about exactly these bytes, and that its seal is signed, in the log, and included under
// a signed checkpoint. What was accepted before is answered again.
func (c *Client) Ingest(ctx context.Context, doc *bundle.Document, envelopes ...dsse.Envelope) (*Receipt, error) {
	body := doc.Canonical
	if len(envelopes) > 0 {
		var err error
		if body, err = bundle.EncodePost(doc.Canonical, envelopes...); err != nil {
			return nil, err
		}
	}
	answer, err := c.Post(ctx, body)
	if err != nil {
		return nil, err
	}
	return c.checkReceipt(ctx, doc, answer)
}

// Post posts a body of [bundle.EncodePost] and returns the receipt unread.
func (c *Client) Post(ctx context.Context, body []byte) ([]byte, error) {
	return c.call(ctx, http.MethodPost, body, "candidate-bundles", "ingest")
}

func (c *Client) checkReceipt(ctx context.Context, doc *bundle.Document, answer []byte) (*Receipt, error) {
	untrusted := func(format string, args ...any) error {
		return &UntrustedError{What: "the receipt", Problems: []string{fmt.Sprintf(format, args...)}}
	}
	// Strictly first: a member that comes twice could be read in two ways.
	canonical, err := digest.CanonicalJSON(answer)
	if err != nil {
		return nil, untrusted("%v", err)
	}
	var schema struct {
		Schema string          `json:"schema"`
		Seal   json.RawMessage `json:"seal"`
	}
	r := &Receipt{Body: answer}
	if err := json.Unmarshal(canonical, &schema); err != nil || schema.Schema != SchemaReceipt {
		return nil, untrusted("it is not %s", SchemaReceipt)
	}
	if err := json.Unmarshal(canonical, r); err != nil {
		return nil, untrusted("%v", err)
	}
	switch b := &doc.Bundle; {
	case r.CandidateRevisionID != b.CandidateRevisionID:
		return nil, untrusted("it is about %.80q, not %s", r.CandidateRevisionID, b.CandidateRevisionID)
	case r.FileSHA256 != doc.FileSHA256:
		return nil, untrusted("its file_sha256 is %.80q, not %s", r.FileSHA256, doc.FileSHA256)
	}
	if r.Seal, err = ledger.ParseSeal(schema.Seal); err != nil {
		return nil, untrusted("%v", err)
	}
	key, root, err := c.Trust(ctx)
	if err != nil {
		return nil, err
	}
	report := verify.Verify([]verify.File{
		{Name: bundle.FileName, Data: doc.Canonical}, {Name: "ingest_receipt.json", Data: answer},
	}, verify.Options{Key: key, TrustedRoot: root})
	if !report.OK() {
		failed := &UntrustedError{What: "the receipt's seal"}
		for _, s := range report.Steps {
			if !s.OK {
				failed.Problems = append(failed.Problems, fmt.Sprintf("%s: expected %s, found %s", s.Name, s.Expected, s.Found))
			}
		}
		return nil, failed
	}
	return r, nil
}
