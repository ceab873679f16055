package candidate

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/lab/evaluate"
)

// Submit posts a packed candidate with its signature, and keeps the plane's answer once
// that was checked: receipt, Sigstore bundle and tlog-proof. What was accepted before is
// answered again. The error is an *evaluate.Error INGEST_REFUSED or CONTROL_UNREACHABLE.
func Submit(ctx context.Context, plane *client.Client, p *Packed) (*client.Receipt, error) {
	var envelopes []dsse.Envelope
	if p.Envelope != nil {
		envelopes = append(envelopes, *p.Envelope)
	}
	receipt, err := plane.Ingest(ctx, p.Document, envelopes...)
	if err != nil {
		return nil, PlaneError(err)
	}
	return receipt, p.keepAnswer(receipt)
}

// keepAnswer does nothing where somebody has packed the revision otherwise meanwhile: the
// answer is about other bytes than those that are there now.
func (p *Packed) keepAnswer(r *client.Receipt) (err error) {
	files, err := r.Files()
	if err != nil {
		return err
	}
	lock, err := p.shelf.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	now, err := p.shelf.Load(p.Bundle.CandidateRevisionID)
	if err != nil || now.FileSHA256 != p.FileSHA256 {
		return err
	}
	// The receipt goes last: where it is, all is.
	for _, f := range []struct {
		name    string
		content []byte
	}{{SigstoreName, files.Sigstore}, {ProofName, files.Proof}, {ReceiptName, r.Body}} {
		if err := put(p.Dir, f.name, f.content); err != nil {
			return err
		}
	}
	return nil
}

// PlaneError gives the errors of a control plane their codes.
func PlaneError(err error) error {
	var away *client.UnreachableError
	var refused *client.RefusedError
	var untrusted *client.UntrustedError
	switch {
	case errors.As(err, &away):
		return &evaluate.Error{
			Code: "CONTROL_UNREACHABLE", Message: err.Error() + ": start it with governance serve, or name another with --control-url",
			Details: map[string]any{"url": away.URL, "flag": "--control-url"}, Cause: err,
		}
	case errors.As(err, &refused):
		return &evaluate.Error{
			Code: "INGEST_REFUSED", Message: "the control plane refuses: " + err.Error(), Cause: err,
			Details: map[string]any{
				"status": refused.Status, "code": refused.Code, "pointer": refused.Pointer, "reason": refused.Reason, "request_id": refused.RequestID,
			},
		}
	case errors.As(err, &untrusted):
		return &evaluate.Error{
			Code: "INGEST_REFUSED", Message: err.Error() + ": nothing of it was kept", Cause: err,
			Details: map[string]any{"code": "UNTRUSTED", "problems": untrusted.Problems},
		}
	}
	return err
}

// Trust is the trust.json that counts for what is packed: that of the plane where one is given,
// else that of a plane with its folder in the state directory. It is nil where none can be had,
// since it is only asked to warn.
func Trust(ctx context.Context, stateDir string, plane *client.Client) *bundle.Trust {
	if plane != nil {
		t, _ := plane.TrustFile(ctx)
		return t
	}
	text, err := os.ReadFile(filepath.Join(stateDir, "governance", "trust.json"))
	if err != nil {
		return nil
	}
	t, _ := bundle.ParseTrust(text)
	return t
}

// Find is a revision of the shelf, else of the plane where one is given.
func Find(ctx context.Context, shelf *Shelf, plane *client.Client, revision string) (*bundle.Document, error) {
	if !validRevision(revision) {
		return nil, refuse("USAGE", "--candidate", "%.80q is no candidate_revision_id: it begins with cr- and has 64 hex digits", revision)
	}
	doc, err := shelf.Load(revision)
	if !missing(err) {
		return doc, err
	}
	if plane == nil {
		return nil, refuse(codeNotFound, "--candidate", "there is no %s in %s: lab candidate pack makes one, --control-url asks a control plane", revision, shelf.dir)
	}
	doc, err = plane.Bundle(ctx, revision)
	var refused *client.RefusedError
	if errors.As(err, &refused) && refused.Status == 404 {
		return nil, refuse(codeNotFound, "--candidate", "there is no %s, neither in %s nor at %s", revision, shelf.dir, plane.URL())
	}
	if err != nil {
		return nil, PlaneError(err)
	}
	return doc, nil
}
