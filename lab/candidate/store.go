package candidate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/lab/request"
)

// The files of a candidate's folder, besides bundle.FileName.
const (
	EnvelopeName = "candidate_bundle.dsse.json"
	ReceiptName  = "ingest_receipt.json"
	SigstoreName = "candidate_bundle.sigstore.json"
	ProofName    = "candidate_bundle.tlog-proof"
)

// derived are the files that are about exactly one candidate_bundle.json. What comes first
// goes first when that changes.
var derived = []string{ProofName, SigstoreName, ReceiptName, EnvelopeName}

// maxBundle bounds what is read as a bundle, in bytes.
const maxBundle = bundle.MaxBody

// Store is the folder of all candidates of a state directory. Writers hold its lock.
type Store struct{ dir string }

// NewStore is the store of a state directory; it is made when the first candidate is kept.
func NewStore(stateDir string) *Store { return &Store{filepath.Join(stateDir, "candidates")} }

// Dir is the folder of a revision.
func (s *Store) Dir(revision string) string { return filepath.Join(s.dir, revision) }

// lock makes the folder and waits for whoever else is packing.
func (s *Store) lock() (*file.Lock, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	l, err := file.LockDir(s.dir)
	if err != nil {
		return nil, err
	}
	if err := s.sweep(); err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return l, nil
}

// sweep removes what a crash has left half made, here and in the folders; the lock reports that
// no one is making it.
func (s *Store) sweep() error {
	var errs []error
	for _, pattern := range []string{file.TempPrefix + "*", filepath.Join("*", file.TempPrefix+"*")} {
		left, err := filepath.Glob(filepath.Join(s.dir, pattern))
		errs = append(errs, err)
		for _, path := range left {
			errs = append(errs, os.RemoveAll(path))
		}
	}
	return errors.Join(errs...)
}

// IDs are the revisions that are there, sorted.
func (s *Store) IDs() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), bundle.RevisionPrefix) {
			ids = append(ids, e.Name())
		}
	}
	return ids, err
}

// Load reads one revision. The error is fs.ErrNotExist if there is none, and an
// *request.Error ARTIFACT_MISMATCH when its bytes are not those that its name stands for.
func (s *Store) Load(revision string) (*bundle.Document, error) {
	path := filepath.Join(s.Dir(revision), bundle.FileName)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	changed := func(why string) error {
		return request.Errorf(request.CodeArtifactMismatch,
			"%s is not what was packed (%s): move the folder away and pack again", path, why).
			With("candidate_revision_id", revision, "problems", []string{bundle.FileName + ": " + why})
	}
	if info.Size() > maxBundle {
		return nil, changed("it is too large")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	doc, refused := bundle.Decode(text)
	switch {
	case refused != nil:
		return nil, changed(refused.Error())
	case doc.Bundle.CandidateRevisionID != revision:
		return nil, changed("it is " + doc.Bundle.CandidateRevisionID)
	case !bytes.Equal(doc.Canonical, text):
		return nil, changed("it is not canonical JSON")
	}
	return doc, nil
}

// ofCandidate are the revisions of a candidate_id, sorted by revision.
func (s *Store) ofCandidate(candidateID string) ([]*bundle.Document, error) {
	ids, err := s.IDs()
	if err != nil {
		return nil, err
	}
	var list []*bundle.Document
	for _, id := range ids {
		doc, err := s.Load(id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a folder that is being removed
		}
		if err != nil {
			return nil, err
		}
		if doc.Bundle.Candidate.CandidateID == candidateID {
			list = append(list, doc)
		}
	}
	return list, nil
}

// last is the revision that was packed last: the one that is no parent. Where folders
// were taken away there can be several, and the newest request decides.
func last(list []*bundle.Document) *bundle.Document {
	var tip *bundle.Document
	for _, d := range list {
		parent := slices.ContainsFunc(list, func(o *bundle.Document) bool {
			p := o.Bundle.Candidate.Lineage.ParentRevisionID
			return p != nil && *p == d.Bundle.CandidateRevisionID
		})
		if !parent && (tip == nil || d.Bundle.SealRequest.RequestedAt > tip.Bundle.SealRequest.RequestedAt) {
			tip = d
		}
	}
	return tip
}

// keep puts a bundle in its place, with its envelope unless that is nil. A new revision
// appears whole; one that is there loses the files about its old bytes before it gets the
// new ones, so that at no moment two files disagree.
func (s *Store) keep(doc *bundle.Document, envelope []byte) error {
	dir := s.Dir(doc.Bundle.CandidateRevisionID)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return s.place(dir, doc, envelope)
	}
	for _, name := range derived {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := put(dir, bundle.FileName, doc.Canonical); err != nil || envelope == nil {
		return err
	}
	return put(dir, EnvelopeName, envelope)
}

// place makes a folder beside its place and moves it there.
func (s *Store) place(dir string, doc *bundle.Document, envelope []byte) error {
	temp, err := os.MkdirTemp(s.dir, file.TempPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err := put(temp, bundle.FileName, doc.Canonical); err != nil {
		return err
	}
	if envelope != nil {
		if err := put(temp, EnvelopeName, envelope); err != nil {
			return err
		}
	}
	return file.MoveDir(temp, dir)
}

// unread reports whether a plane has sealed the kept bundle without reading the files of its runs.
func (s *Store) unread(revision string) bool {
	text, err := os.ReadFile(filepath.Join(s.Dir(revision), ReceiptName))
	if err != nil {
		return false // it was not submitted yet
	}
	var receipt struct {
		Seal struct {
			Sigstore struct {
				Envelope struct {
					Payload []byte `json:"payload"`
				} `json:"dsseEnvelope"`
			} `json:"sigstore_bundle"`
		} `json:"seal"`
	}
	if err := json.Unmarshal(text, &receipt); err != nil {
		return false
	}
	var sealed struct {
		Predicate struct {
			Evidence []bundle.RunEvidence `json:"evidence"`
		} `json:"predicate"`
	}
	err = json.Unmarshal(receipt.Seal.Sigstore.Envelope.Payload, &sealed)
	return err == nil && len(sealed.Predicate.Evidence) == 0
}

// put replaces a file.
func put(dir, name string, content []byte) error {
	return file.Write(filepath.Join(dir, name), content, 0o600)
}

// Submit posts a packed candidate with its signature, and keeps the plane's answer once
// that was checked: receipt, Sigstore bundle and tlog-proof. What was accepted before is
// answered again. The error is an *request.Error INGEST_REFUSED or CONTROL_UNREACHABLE.
func Submit(ctx context.Context, plane *client.Client, p *Packed) (*client.Receipt, error) {
	var envelopes []dsse.Envelope
	if p.Envelope != nil {
		envelopes = append(envelopes, *p.Envelope)
	}
	hosted, err := p.hosted(ctx, plane)
	if err != nil {
		return nil, err
	}
	envelopes = append(envelopes, hosted...)
	receipt, err := plane.Ingest(ctx, p.Document, envelopes...)
	if err != nil {
		return nil, PlaneError(err)
	}
	return receipt, p.keepAnswer(receipt)
}

// keepAnswer does nothing where the revision was packed otherwise meanwhile: the
// answer is about other bytes than those that are there now.
func (p *Packed) keepAnswer(r *client.Receipt) (err error) {
	files, err := r.Files()
	if err != nil {
		return err
	}
	lock, err := p.candidates.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	now, err := p.candidates.Load(p.Bundle.CandidateRevisionID)
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

// The codes of the answers of a control plane.
const (
	CodeUnreachable   = client.CodeUnreachable
	CodeIngestRefused = "INGEST_REFUSED"
)

// PlaneError gives the errors of a control plane their codes.
func PlaneError(err error) error {
	var away *client.UnreachableError
	var refused *client.RefusedError
	var untrusted *client.UntrustedError
	switch {
	case errors.As(err, &away):
		return request.Errorf(CodeUnreachable,
			"%w: start it with governance serve, or name another with --control-url", err).
			With("url", away.URL, "flag", "--control-url")
	case errors.As(err, &refused):
		return request.Errorf(CodeIngestRefused, "the control plane refuses: %w", err).With("status",
			refused.Status,
			"code", refused.Code, "pointer", refused.Pointer, "reason", refused.Reason, "request_id",
			refused.RequestID)
	case errors.As(err, &untrusted):
		return request.Errorf(CodeIngestRefused, "%w: nothing of it was kept", err).
			With("code", "UNTRUSTED", "problems", untrusted.Problems)
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

// Find is a revision of the store, else of the plane where one is given.
func Find(ctx context.Context, candidates *Store, plane *client.Client,
	revision string) (*bundle.Document, error) {
	if !validRevision(revision) {
		return nil, refuse(request.CodeUsage, "--candidate",
			"%.80q is no candidate_revision_id: it begins with cr- and has 64 hex digits", revision)
	}
	doc, err := candidates.Load(revision)
	if !missing(err) {
		return doc, err
	}
	if plane == nil {
		return nil, refuse(request.CodeRunNotFound, "--candidate",
			"there is no %s in %s: lab candidate pack makes one, --control-url asks a control plane",
			revision, candidates.dir)
	}
	doc, err = plane.Bundle(ctx, revision)
	var refused *client.RefusedError
	if errors.As(err, &refused) && refused.Status == 404 {
		return nil, refuse(request.CodeRunNotFound, "--candidate", "there is no %s, neither in %s nor at %s",
			revision, candidates.dir, plane.URL())
	}
	if err != nil {
		return nil, PlaneError(err)
	}
	return doc, nil
}

// Result is what lab candidate pack --json prints.
type Result struct {
	CandidateRevisionID string  `json:"candidate_revision_id"`
	CandidateID         string  `json:"candidate_id"`
	FamilyID            string  `json:"family_id"`
	FileSHA256          string  `json:"file_sha256"`
	ParentRevisionID    *string `json:"parent_revision_id"`
	ChangeClass         string  `json:"change_class"`
	RequestedStage      string  `json:"requested_stage"`
	LogOrigin           string  `json:"log_origin"`
	ExpiresAt           string  `json:"expires_at"`
	// Reused reports that the bundle was there and was left alone.
	Reused bool        `json:"reused"`
	Signed bool        `json:"signed"`
	Runs   []PackedRun `json:"runs"`
	// Refuted are the falsifications in it that refute the candidate.
	Refuted      []Refutation `json:"refuted"`
	Artifacts    int          `json:"artifacts"`
	FamilyTrials int64        `json:"family_trials"`
	Path         string       `json:"path"`
	// Receipt is null without --submit.
	Receipt *Submitted `json:"receipt"`
}

// PackedRun is one run of a bundle.
type PackedRun struct {
	RunID string      `json:"run_id"`
	Role  bundle.Role `json:"role"`
}

// Submitted is what a control plane made of a post; its seal was checked.
type Submitted struct {
	Duplicate          bool     `json:"duplicate"`
	Assurance          string   `json:"assurance"`
	Rungs              []string `json:"rungs"`
	Stage              string   `json:"stage"`
	StageStatus        string   `json:"stage_status"`
	PendingExperiments int      `json:"pending_experiments"`
	LogOrigin          string   `json:"log_origin"`
	LogIndex           int64    `json:"log_index"`
}

// SubmittedOf condenses a receipt; nil of nil.
func SubmittedOf(r *client.Receipt) *Submitted {
	if r == nil {
		return nil
	}
	return &Submitted{
		Duplicate: r.Duplicate, Assurance: r.Assurance, Rungs: append([]string{}, r.Rungs...),
		Stage: r.State.Stage, StageStatus: r.State.StageStatus,
		PendingExperiments: r.PendingExperiments, LogOrigin: r.Seal.LogOrigin, LogIndex: r.Seal.LogIndex,
	}
}

// ResultOf is the answer of a pack; the receipt may be nil.
func ResultOf(p *Packed, r *client.Receipt) Result {
	b := &p.Bundle
	out := Result{
		CandidateRevisionID: b.CandidateRevisionID, CandidateID: b.Candidate.CandidateID,
		FamilyID: b.Candidate.FamilyID, FileSHA256: p.FileSHA256,
		ParentRevisionID: b.Candidate.Lineage.ParentRevisionID, ChangeClass: b.Candidate.Lineage.ChangeClass,
		RequestedStage: string(b.SealRequest.RequestedStage), LogOrigin: b.SealRequest.LogOrigin,
		ExpiresAt: b.SealRequest.ExpiresAt,
		Reused:    p.Reused, Signed: p.Envelope != nil, Refuted: p.Refuted,
		Artifacts: len(b.Artifacts), Path: "candidates/" + b.CandidateRevisionID, Receipt: SubmittedOf(r),
	}
	if b.Trials != nil {
		out.FamilyTrials = b.Trials.FamilyTrials
	}
	for _, run := range b.Runs {
		out.Runs = append(out.Runs, PackedRun{run.RunID, run.Role})
	}
	return out
}

// Print writes the answer for people.
func (r Result) Print(w io.Writer) {
	state := []string{"packed"}
	if r.Reused {
		state[0] = "packed before"
	}
	if r.Signed {
		state = append(state, "signed")
	}
	fmt.Fprintf(w, "%s  %s\n%s, %s, for %s until %s\n", r.CandidateRevisionID, strings.Join(state, ", "),
		r.CandidateID, r.ChangeClass, r.RequestedStage, r.ExpiresAt)
	for _, run := range r.Runs {
		fmt.Fprintf(w, "  %-14s %s\n", run.Role, run.RunID)
	}
	for _, x := range r.Refuted {
		fmt.Fprintf(w, "falsification %s refutes: %s\n", x.RunID, strings.Join(x.Tests, ", "))
	}
	fmt.Fprintf(w, "%d artifacts, %d trials on its days, %s/%s\n", r.Artifacts, r.FamilyTrials, r.Path,
		bundle.FileName)
	r.Receipt.print(w)
}

func (s *Submitted) print(w io.Writer) {
	if s == nil {
		return
	}
	again := ""
	if s.Duplicate {
		again = ", known before"
	}
	fmt.Fprintf(w, "sealed by %s as entry %d%s: %s, %s/%s, %d experiments pending\n", s.LogOrigin, s.LogIndex,
		again, s.Assurance, s.Stage, s.StageStatus, s.PendingExperiments)
}

// Replayed is what lab candidate replay --json prints.
type Replayed struct {
	CandidateRevisionID string `json:"candidate_revision_id"`
	// Equal, Different and NotRun count the runs.
	Equal     int       `json:"equal"`
	Different int       `json:"different"`
	NotRun    int       `json:"not_run"`
	Runs      []Outcome `json:"runs"`
	// PluginFrom is checkout when this checkout builds the pinned program, else store.
	PluginFrom string `json:"plugin_from"`
	Signed     bool   `json:"signed"`
	// Path is the signed statement below the state directory, null where there is none.
	Path *string `json:"path"`
	// Receipt is null without --submit.
	Receipt *Submitted `json:"receipt"`
	// Challenge is the answer to the challenge of the seal, null where no plane was named or the
	// window could not be played.
	Challenge *bundle.ChallengeAnswer `json:"challenge"`
	// Candles are where the candles of the replay came from, once for each file of candles.
	Candles []bundle.CandleSource `json:"candles"`
	// Commitment is how far the answer has come with --commit; until it is shown, Challenge is null.
	Commitment *Progress `json:"commitment,omitempty"`
}

// Print writes a line per run.
func (r *Replayed) Print(w io.Writer) {
	fmt.Fprintf(w, "%s  %d equal, %d different, %d not run\n", r.CandidateRevisionID, r.Equal, r.Different,
		r.NotRun)
	for _, o := range r.Runs {
		line := fmt.Sprintf("  %-9s  %-14s %s", o.Verdict, o.Role, o.RunID)
		if o.Verdict != Equal {
			line += "  " + o.Code + ": " + o.Reason
		}
		if o.RecordedTrials > 0 {
			line += fmt.Sprintf("  judged with the %d trials that it has recorded", o.RecordedTrials)
		}
		fmt.Fprintln(w, line)
	}
	for _, c := range r.Candles {
		fmt.Fprintln(w, strings.TrimSpace(fmt.Sprintf("candles %.12s…: %s %s", c.SHA256, c.Source, c.From)))
	}
	if c := r.Challenge; c != nil {
		fmt.Fprintf(w, "challenge: %d candles from %s, decisions %.12s…\n", c.Candles, c.Start,
			c.DecisionSHA256)
	}
	if r.Commitment != nil {
		fmt.Fprintln(w, r.Commitment.Text())
	}
	if r.Path != nil {
		fmt.Fprintf(w, "signed: %s\n", *r.Path)
	}
	r.Receipt.print(w)
}
