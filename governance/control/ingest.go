package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/evidence"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/bucket"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/field"
)

// ingest is POST /candidate-bundles/ingest. What came of it is logged, never what was sent.
func (p *Plane) ingest(r *request) (*edge.Answer, error) {
	in := &submission{p: p}
	a, err := in.take(r)
	if err != nil {
		refused := problemOf(err)
		outcome := ingestRefused
		if refused.Status() >= http.StatusInternalServerError {
			outcome = ingestFailed
		}
		p.ingests[outcome].Add(1)
		p.opts.Logger.Info("a bundle was not taken", "candidate_revision_id", in.id,
			"outcome", outcomes()[outcome], "code", refused.code)
		return nil, err
	}
	rec, outcome := a.Body.(*receipt), ingestAccepted
	if rec.Duplicate {
		outcome = ingestDuplicate
	}
	p.ingests[outcome].Add(1)
	p.opts.Logger.Info("a bundle was taken", "candidate_revision_id", in.id,
		"outcome", outcomes()[outcome], "assurance", rec.Assurance, "stage", rec.State.Stage)
	return a, nil
}

// take is an ingest: the checks in their order, then one write.
func (s *submission) take(r *request) (*edge.Answer, error) {
	p := s.p
	if err := p.damaged(); err != nil {
		return nil, err
	}
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	p.opts.At.Reach("ingest.read")
	post, refused := bundle.ReadPost(body)
	if refused != nil {
		if id, _ := refused.Declared.(string); refused.Code == bundle.RevisionMismatch && p.store.Known(id) {
			refused.Code = bundle.RevisionConflict
		}
		return nil, refused
	}
	p.opts.At.Reach("ingest.parsed")
	s.post, s.id = post, post.Bundle.CandidateRevisionID
	if err := s.judge(r.Context()); err != nil {
		return nil, err
	}
	p.opts.At.Reach("ingest.judged")
	out := &store.Outcome{}
	if s.fresh || len(s.list) > 0 {
		ctx := r.Context()
		out, err = p.store.Update(ctx, func(t *store.Tx) error { return s.write(ctx, t) })
		if err != nil {
			return nil, err
		}
	}
	p.wake()
	p.opts.At.Reach("ingest.written")
	return s.receipt(r, out)
}

// readBody reads a body that is declared as JSON and is not too large.
func readBody(r *request) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "" {
		return nil, say(codeEncoding, "Send the body without a content encoding.")
	}
	if !isJSON(r.Header) {
		return nil, say(edge.CodeMediaType, "Send the body as application/json.")
	}
	tooLarge := &problem{code: edge.CodeBodyTooLarge,
		message: fmt.Sprintf("A body has at most %d bytes.", bundle.MaxBody), close: true}
	if r.ContentLength > bundle.MaxBody {
		return nil, tooLarge
	}
	// Only the innermost writer makes the server close the connection.
	body, err := io.ReadAll(http.MaxBytesReader(r.Writer, r.Body, bundle.MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &problem{code: edge.CodeRequestTimeout, message: "The body did not arrive in time.",
			close: true}
	case err != nil:
		return nil, &problem{code: edge.CodeMalformedRequest,
			message: "The body ended too early or is badly framed.", close: true}
	}
	r.EndBody()
	return body, nil
}

func isJSON(h http.Header) bool {
	if len(h.Values("Content-Type")) != 1 {
		return false
	}
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset, named := params["charset"]
	return err == nil && kind == "application/json" && (!named || strings.EqualFold(charset, "utf-8"))
}

// submission is one ingest on its way.
type submission struct {
	p    *Plane
	post *bundle.Post
	id   string

	fresh     bool // is the file new to the log?
	list      []bundle.Attestation
	people    // what list was judged by
	artifacts artifacts
	warnings  []warning

	seal  int64   // the entry that accepts the file
	added []int64 // the entries of its attestations, whether they are new or not
}

// judge is everything that needs no place in the log: steps 4 to 6.
func (s *submission) judge(ctx context.Context) error {
	_, known := s.p.store.Submission(s.post.FileSHA256)
	s.fresh = !known
	err := s.p.store.Look(func(w *promotion.World, _ ledger.View) error {
		s.people = s.peopleOf(w)
		if s.fresh {
			return s.mayBegin(w)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.attest(ctx, s.p.store.Attested); err != nil {
		return err
	}
	err = s.p.store.Look(func(w *promotion.World, _ ledger.View) error { return s.checkShadows(w) })
	if err != nil {
		return err
	}
	s.p.opts.At.Reach("ingest.attested")
	if !s.fresh || s.p.opts.Artifacts == nil {
		return nil
	}
	found, err := readArtifacts(ctx, s.p.opts.Artifacts, s.post)
	s.artifacts = found
	s.p.opts.At.Reach("ingest.artifacts")
	return err
}

// mayBegin is step 4: may this file be taken as a new one?
func (s *submission) mayBegin(w *promotion.World) error {
	if refused := s.post.CheckSeal(s.p.opts.Now(), s.p.store.Origin()); refused != nil {
		return refused
	}
	if w.Ended(s.id) {
		return field.Refuse(bundle.RevisionRejected, s.post.Pointer("/candidate_revision_id"),
			"this revision was rejected or retired for good")
	}
	return nil
}

// attest is step 5. Of a file that is known, what was recorded is not judged again.
func (s *submission) attest(ctx context.Context, recorded func(paeSHA256, keyID string) bool) error {
	if s.fresh {
		recorded = nil
	}
	list, refused := s.post.Attestations(bundle.Judge{
		Trust: s.trust, Now: s.p.opts.Now(), Origin: s.p.store.Origin(), Excluded: s.excluded,
		Interested: s.interested, Alone: s.alone, Recorded: recorded,
	})
	if refused != nil {
		return refused
	}
	s.list = list
	if err := s.checkDrills(ctx); err != nil {
		return err
	}
	if s.fresh {
		if refused := s.trust.CheckSigned(list); refused != nil {
			return refused
		}
	}
	return nil
}

// checkDrills holds what is new of drills against the records of their runs.
func (s *submission) checkDrills(ctx context.Context) error {
	for i := range s.list {
		d, ok := s.list[i].Parsed.Predicate.(*bundle.Drill)
		if !ok || s.list[i].Known {
			continue
		}
		at := s.list[i].Pointer + "/payload"
		if refused := evidence.CheckDrill(d, &s.post.Bundle, at, s.p.opts.Now()); refused != nil {
			return refused
		}
		if !sameRecord(ctx, s.p.opts.Artifacts, d) {
			refused := field.Refuse(bundle.InvalidDrill, at,
				"the record differs from that of this run below the artifact root")
			refused.Reason = bundle.ReasonRecord
			return refused
		}
	}
	return nil
}

// write appends what is new. What may have changed since it was judged is judged again.
func (s *submission) write(ctx context.Context, t *store.Tx) error {
	w := t.World()
	if now := s.peopleOf(w); !now.equal(s.people) {
		s.people = now
		recorded := func(paeSHA256, keyID string) bool {
			_, ok := t.Attested(&bundle.Attestation{PAESHA256: paeSHA256, KeyID: keyID})
			return ok
		}
		if err := s.attest(ctx, recorded); err != nil {
			return err
		}
	}
	if err := s.checkShadows(w); err != nil { // another worker may have been faster
		return err
	}
	seq, known := t.Submission(s.post.FileSHA256)
	if s.seal = seq; !known {
		// Known to be new when it was judged, so step 4 was taken then; but it may have ended.
		if err := s.mayBegin(w); err != nil {
			return err
		}
		s.seal = t.Next()
		a := &s.artifacts
		if err := t.Seal(&s.post.Document, s.rungs(w), a.verified, a.evidence); err != nil {
			return err
		}
	}
	for i := range s.list {
		if _, ok := t.Attested(&s.list[i]); ok {
			continue
		}
		if err := t.Record(s.id, &s.list[i]); err != nil {
			return err
		}
	}
	for i := range s.list {
		if at, ok := t.Attested(&s.list[i]); ok && !slices.Contains(s.added, at) {
			s.added = append(s.added, at)
		}
	}
	s.warnPlans(w, t.Now())
	return nil
}

// rungs are those of the seal: what is known when the bundle is taken.
func (s *submission) rungs(w *promotion.World) []string {
	held := append(w.Holds(s.id), bundle.RungClaimed)
	if s.artifacts.all && s.artifacts.evidence != nil {
		held = append(held, bundle.RungVerified)
	}
	for i := range s.list {
		if s.list[i].Parsed.Statement.PredicateType == bundle.TypeBundle {
			held = append(held, bundle.RungSigned)
		}
	}
	var rungs []string
	for _, r := range bundle.Rungs() {
		if slices.Contains(held, r) {
			rungs = append(rungs, r)
		}
	}
	return rungs
}

// warnPlans warns of approvals of a plan that is not the one at hand.
func (s *submission) warnPlans(w *promotion.World, now time.Time) {
	for i := range s.list {
		a, ok := s.list[i].Parsed.Predicate.(*bundle.Approval)
		if !ok || a.Action != "promote" {
			continue
		}
		plan, refused := w.Plan(bundle.SubjectRevision, s.id, string(a.Stage), now)
		if refused != nil || plan.PlanDigest != a.PlanDigest {
			s.warn("APPROVAL_PLAN_DIFFERS",
				"the approval is of another plan than the one at hand and does not count", s.list[i].Pointer)
		}
	}
}

func (s *submission) warn(code, message, pointer string) {
	s.warnings = append(s.warnings, warning{code, message, pointer})
}

// receipt is ingest-receipt/v1: what became of a post.
type receipt struct {
	Schema              string           `json:"schema"`
	CandidateRevisionID string           `json:"candidate_revision_id"`
	FileSHA256          string           `json:"file_sha256"`
	Duplicate           bool             `json:"duplicate"`
	Assurance           string           `json:"assurance"`
	Rungs               []string         `json:"rungs"`
	Facts               []store.FactName `json:"facts"`       // without artifact_listed
	FactsTotal          int              `json:"facts_total"` // with them
	Seal                *ledger.Seal     `json:"seal"`
	State               standing         `json:"promotion_state"`
	PendingExperiments  int              `json:"pending_experiments"`
	Warnings            []warning        `json:"warnings"`
}

type standing struct {
	Stage       bundle.Stage     `json:"stage"`
	StageStatus promotion.Status `json:"stage_status"`
	Href        string           `json:"href"`
}

// warning is something that does not refuse a post, but that its sender should know.
type warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Pointer string `json:"pointer"`
}

const schemaReceipt = "ingest-receipt/v1"

// receipt is the answer to a post: 201 when the log grew, 200 when nothing of it was new.
// It leaves only after the log is on disk.
func (s *submission) receipt(r *request, out *store.Outcome) (*edge.Answer, error) {
	rec := &receipt{
		Schema: schemaReceipt, CandidateRevisionID: s.id, FileSHA256: s.post.FileSHA256,
		Duplicate: len(out.Entries) == 0,
		Facts:     []store.FactName{}, Warnings: []warning{},
	}
	if err := s.facts(r, rec, out); err != nil {
		return nil, err
	}
	entry, err := s.sealed(r, out)
	if err != nil {
		return nil, err
	}
	view := out.View
	err = s.p.store.Look(func(w *promotion.World, log ledger.View) error {
		if rec.Duplicate {
			view = log
		}
		return rec.state(w, s)
	})
	if err != nil {
		return nil, err
	}
	if rec.Seal, err = view.Seal(s.seal, entry); err != nil {
		return nil, err
	}
	s.warnRest(rec.Rungs)
	rec.Warnings = append(rec.Warnings, s.warnings...)
	rec.State.Href = r.Prefix + "/promotion-state/" + bundle.SubjectRevision + "/" + s.id
	a := &edge.Answer{Status: http.StatusOK, Body: rec, Header: http.Header{"Location": {rec.State.Href}}}
	if !rec.Duplicate {
		a.Status = http.StatusCreated
	}
	return a, nil
}

// facts are those that the post has made, or that it made when it was new.
func (s *submission) facts(r *request, rec *receipt, out *store.Outcome) error {
	all := make([]store.FactName, 0, len(out.Facts))
	for _, f := range out.Facts {
		all = append(all, store.FactName{Seq: f.Seq, Type: f.Type, ID: f.ID, Run: f.Run})
	}
	if rec.Duplicate {
		if !s.fresh && len(s.list) == 0 {
			s.seal, _ = s.p.store.Submission(s.post.FileSHA256)
		}
		for _, seq := range append([]int64{s.seal}, s.added...) {
			more, err := s.p.store.FactNames(r.Context(), seq)
			if err != nil {
				return err
			}
			all = append(all, more...)
		}
	}
	rec.FactsTotal = len(all)
	for _, f := range all {
		if f.Type != promotion.ArtifactListed {
			rec.Facts = append(rec.Facts, f)
		}
	}
	return nil
}

// sealed is the entry that accepts the file.
func (s *submission) sealed(r *request, out *store.Outcome) (ledger.Entry, error) {
	if i := s.seal - out.First; len(out.Entries) > 0 && i >= 0 && i < int64(len(out.Entries)) {
		return out.Entries[i], nil
	}
	return s.p.store.Signed(r.Context(), s.seal)
}

func (rec *receipt) state(w *promotion.World, s *submission) error {
	now := s.p.opts.Now()
	state, refused := w.State(bundle.SubjectRevision, s.id, now)
	if refused != nil {
		return refused
	}
	pending, refused := w.Experiments(bundle.SubjectRevision, s.id, "", now)
	if refused != nil {
		return refused
	}
	rec.Assurance, rec.Rungs, rec.PendingExperiments = state.Assurance, state.Rungs, pending.Count
	rec.State.Stage, rec.State.StageStatus = state.Stage, state.StageStatus
	if _, differs := w.ChangeClass(s.id); differs {
		s.warn("CHANGE_CLASS_DIFFERS", "by what is in the log the change is "+state.ChangeClass,
			s.post.Pointer("/candidate/lineage/change_class"))
	}
	return nil
}

// warnRest warns of files that were not there and of statements that count for nothing.
func (s *submission) warnRest(rungs []string) {
	for _, i := range s.artifacts.missing {
		s.warn("ARTIFACT_NOT_FOUND", "this file is not there, its hash was not verified",
			s.post.Pointer("/artifacts/"+strconv.Itoa(i)))
	}
	if !slices.Contains(rungs, bundle.RungVerified) {
		s.warn("EVIDENCE_NOT_READ",
			"not all files were read that numbers are worked out of, and no gate passes "+
				"on declared ones: put runs/ below the artifact root, then submit again by lab candidate "+
				"pack",
			s.post.Pointer("/runs"))
	}
	warned := map[string]bool{}
	for i := range s.list {
		if a := &s.list[i]; !a.Parsed.Known() && !warned[a.Pointer] {
			warned[a.Pointer] = true
			s.warn("UNKNOWN_PREDICATE_TYPE", "a statement of this type is kept, but counts for nothing",
				a.Pointer)
		}
	}
}

// damaged refuses where the log may not be continued or vouched for.
func (p *Plane) damaged() error {
	if d := p.store.Damage(); d != nil {
		return d
	}
	return nil
}

// artifacts is what became of the files that a bundle lists.
type artifacts struct {
	verified []bundle.Subject // read, and equal
	missing  []int            // by index in the bundle
	all      bool             // were all read?
	// evidence is what the files of all runs came to, nil where one is missing.
	evidence []bundle.RunEvidence
}

// readArtifacts reads the artifacts below a root. A file that is not there is missing; one that
// is another is refused.
func readArtifacts(ctx context.Context, root *bucket.Root, post *bundle.Post) (artifacts, error) {
	found := artifacts{all: true}
	files, done, err := root.Open(ctx)
	if err != nil { // the folder is away: none of its files is there
		files = nil
	} else {
		defer done()
	}
	for i, a := range post.Bundle.Artifacts {
		if err := ctx.Err(); err != nil {
			return found, err // no client waits for the answer any more
		}
		sum, size, err := hashFile(files, a.Name, a.Size)
		switch {
		case err != nil:
			// Not there, not readable or a way out of the folder: nothing was verified.
			found.all = false
			found.missing = append(found.missing, i)
		case size != a.Size || sum != a.SHA256:
			return found, field.Refuse(bundle.ArtifactMismatch, post.Pointer("/artifacts/"+strconv.Itoa(i)),
				"the file is not the one that the bundle lists")
		default:
			found.verified = append(found.verified, bundle.FileSubject(a.Name, sum))
		}
	}
	found.evidence, err = evidence.Check(&post.Bundle, post.Pointer, func(name, sum string) ([]byte, error) {
		return readFile(files, name, sum)
	})
	if !found.all {
		found.evidence = nil
	}
	return found, err
}

// maxEvidence is how large a file may be that numbers are read from, in bytes.
const maxEvidence = 64 << 20

// readFile reads a file with this hash. One that has another, is too large or is not there is
// missing: those that the bundle lists were held against their hashes before.
func readFile(files fs.FS, name, sum string) ([]byte, error) {
	if files == nil {
		return nil, fs.ErrNotExist
	}
	info, err := fs.Stat(files, name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxEvidence {
		return nil, fs.ErrNotExist
	}
	f, err := files.Open(name)
	if err != nil {
		return nil, fs.ErrNotExist
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxEvidence))
	if err != nil || digest.SHA256Hex(text) != sum {
		return nil, fs.ErrNotExist
	}
	return text, nil
}

// sameRecord reports whether the record of a drill is the one below a root, where that is there.
func sameRecord(ctx context.Context, root *bucket.Root, d *bundle.Drill) bool {
	if root == nil {
		return true
	}
	files, done, err := root.Open(ctx)
	if err != nil {
		return true
	}
	defer done()
	info, err := fs.Stat(files, "runs/"+d.RunID+"/"+evidence.MetadataName)
	if err != nil || !info.Mode().IsRegular() {
		return true
	}
	_, err = readFile(files, "runs/"+d.RunID+"/"+evidence.MetadataName, digest.SHA256Hex([]byte(d.Metadata)))
	return err == nil
}

// errNotRegular reports that something is no file.
var errNotRegular = errors.New("not a regular file")

// hashFile reads a file, but nothing of one that has another size than it should.
func hashFile(files fs.FS, name string, want int64) (sum string, size int64, err error) {
	if files == nil {
		return "", 0, fs.ErrNotExist
	}
	info, err := fs.Stat(files, name)
	if err != nil {
		return "", 0, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for a writer
		return "", 0, &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
	}
	if info.Size() != want {
		return "", info.Size(), nil
	}
	f, err := files.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, io.LimitReader(f, want+1))
	return hex.EncodeToString(h.Sum(nil)), size, err
}
