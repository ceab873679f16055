package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/translog"
)

const (
	// readLimit bounds one question of a Reader with everything that it asks for.
	readLimit = 3 * time.Second
	// readPause is how long a plane that did not answer is left alone: a page asks for many things.
	readPause = 3 * time.Second
	// maxRead bounds one answer to a Reader, maxKept all that it keeps, in bytes.
	maxRead, maxKept = 4 << 20, 32 << 20
)

// ReaderOptions are what a Reader is made of.
type ReaderOptions struct {
	// URL, HTTP and Key are those of [Options]; the Key is the pinned one.
	URL  string
	HTTP *http.Client
	Key  []byte
	// Seen is the checkpoint of the log that the host remembers, nil before the first.
	Seen func() (*translog.Kept, error)
	Now  func() time.Time
	// Witnesses are those that the host asks for: they must have cosigned a change of the log's keys.
	Witnesses translog.Quorum
}

// Reader reads a control plane for people. What it has read it keeps: when the plane does not answer
// within three seconds, the last good answer is given with its age. It changes nothing, the memory of the
// log included. It may be used by several goroutines.
type Reader struct {
	client *Client
	key    *ledger.Key
	seen   func() (*translog.Kept, error)
	now    func() time.Time

	witnesses translog.Quorum

	mu     sync.Mutex
	kept   map[string]keptReading
	order  []string // of kept, oldest first
	bytes  int
	proven map[claim]Verified // of the checkpoint of provenBy
	by     string
	away   error // of the last question that was not answered, and when that was
	awayAt time.Time
	heard  time.Time // the last answer
}

type keptReading struct {
	document json.RawMessage
	verified Verified
	at       time.Time
}

// NewReader checks the options; nothing is sent yet.
func NewReader(o ReaderOptions) (*Reader, error) {
	c, err := New(Options{URL: o.URL, HTTP: o.HTTP, Timeout: readLimit, Key: o.Key})
	if err != nil {
		return nil, err
	}
	key, err := ledger.ParseKey(o.Key)
	if err != nil {
		return nil, err
	}
	c.plane.MaxAnswer = maxRead
	r := &Reader{client: c, key: key, seen: o.Seen, now: o.Now, witnesses: o.Witnesses,
		kept: map[string]keptReading{}}
	if r.now == nil {
		r.now = time.Now
	}
	return r, nil
}

// Reach reports whether the control plane answers.
type Reach struct {
	Configured bool `json:"configured"`
	Reachable  bool `json:"reachable"`
	// CheckedAt is when it answered last, null before; Reason is why it does not, "" where it does.
	CheckedAt *string `json:"checked_at"`
	URL       string  `json:"url"`
	Reason    string  `json:"reason"`
	// Checkpoint is that of its log which this host remembers.
	Checkpoint *Head `json:"checkpoint"`
}

// Reading is a document of the control plane.
type Reading struct {
	// Document is as the control plane has answered it.
	Document json.RawMessage `json:"document"`
	// ReadAt is when, AgeSeconds how long ago: 0 of an answer of now. Reachable reports whether the plane
	// has answered this question, Reason why not.
	ReadAt     string   `json:"read_at"`
	AgeSeconds int64    `json:"age_seconds"`
	Reachable  bool     `json:"reachable"`
	Reason     string   `json:"reason"`
	Verified   Verified `json:"verified"`
}

// Check asks whether the plane answers.
func (r *Reader) Check(ctx context.Context) (Reach, error) {
	out := Reach{Configured: true, URL: r.client.URL()}
	_, err := r.ask(ctx, func(ctx context.Context) ([]byte, error) {
		text, err := r.client.Read(ctx, "health")
		if err != nil {
			return nil, err
		}
		var health struct{ Service string }
		if json.Unmarshal(text, &health) != nil || health.Service != "governance" {
			return nil, r.client.unreachable(ctx, errors.New("what answers is not a control plane"))
		}
		return text, nil
	})
	var away *UnreachableError
	switch {
	case errors.As(err, &away):
		out.Reason = away.Cause.Error()
	case err != nil:
		return out, err
	default:
		out.Reachable = true
	}
	r.mu.Lock()
	if !r.heard.IsZero() {
		at := stamp(r.heard)
		out.CheckedAt = &at
	}
	r.mu.Unlock()
	if k, err := r.seen(); err == nil && k != nil {
		out.Checkpoint = &Head{Origin: k.Origin, Size: k.Size, RootSHA256: k.Root, Remembered: &k.Size}
	}
	return out, nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Read reads one of the plane's documents by its path, such as promotion-state, candidate_revision and an
// id. The errors are *UnreachableError, where there is no earlier answer either, *RefusedError and those of
// ctx.
func (r *Reader) Read(ctx context.Context, path ...string) (*Reading, error) {
	var doc document
	var proof Verified
	text, err := r.ask(ctx, func(ctx context.Context) (text []byte, err error) {
		if text, err = r.client.Read(ctx, path...); err != nil {
			return nil, err
		}
		if doc, err = readDocument(text, path); err != nil {
			return nil, r.client.unreachable(ctx, err)
		}
		proof = r.verify(ctx, text, doc)
		return text, nil
	})
	name := strings.Join(path, "/")
	var away *UnreachableError
	if errors.As(err, &away) {
		return r.last(name, away)
	}
	if err != nil {
		return nil, err
	}
	now := r.now()
	r.keep(name, keptReading{text, proof, now})
	return &Reading{Document: text, ReadAt: stamp(now), Reachable: true, Verified: proof}, nil
}

// ask asks within the limit, unless the plane was away a moment ago.
func (r *Reader) ask(ctx context.Context, question func(context.Context) ([]byte, error)) ([]byte, error) {
	r.mu.Lock()
	away, since := r.away, r.now().Sub(r.awayAt)
	r.mu.Unlock()
	if away != nil && since >= 0 && since < readPause {
		return nil, away
	}
	limited, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	text, err := question(limited)
	if err != nil && ctx.Err() == nil {
		err = r.judge(err)
	}
	var lost *UnreachableError
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case errors.As(err, &lost):
		r.away, r.awayAt = err, r.now()
	case ctx.Err() == nil:
		r.away, r.heard = nil, r.now()
	}
	return text, err
}

// judge turns a limit that was reached, and a plane that cannot answer for itself, into a plane that is away.
func (r *Reader) judge(err error) error {
	var refused *RefusedError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = &UnreachableError{r.client.URL(), fmt.Errorf("it has not answered within %s", readLimit)}
	case errors.As(err, &refused) && refused.Status >= http.StatusInternalServerError:
		err = &UnreachableError{r.client.URL(), refused}
	}
	return err
}

// last is the last good answer of a plane that is away.
func (r *Reader) last(name string, away *UnreachableError) (*Reading, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, ok := r.kept[name]
	if !ok {
		return nil, away
	}
	age := max(0, r.now().Sub(k.at))
	return &Reading{Document: k.document, ReadAt: stamp(k.at), AgeSeconds: int64(age / time.Second),
		Reason: away.Cause.Error(), Verified: k.verified}, nil
}

// keep keeps an answer, unless one that could be verified would go for one that cannot.
func (r *Reader) keep(name string, k keptReading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, ok := r.kept[name]
	if ok && old.verified.OK && !k.verified.OK {
		return
	}
	r.bytes += len(k.document) - len(old.document)
	r.kept[name] = k
	if ok {
		r.order = slices.DeleteFunc(r.order, func(s string) bool { return s == name })
	}
	r.order = append(r.order, name)
	for r.bytes > maxKept && len(r.order) > 1 {
		r.bytes -= len(r.kept[r.order[0]].document)
		delete(r.kept, r.order[0])
		r.order = r.order[1:]
	}
}

// document is what a Reader reads of an answer: that it is about what was asked for, and on which entry of
// the log it rests.
type document struct {
	Schema      string  `json:"schema"`
	SubjectType string  `json:"subject_type"`
	SubjectID   string  `json:"subject_id"`
	FamilyID    string  `json:"family_id"`
	AsOfSeq     *int64  `json:"as_of_seq"`
	Revision    string  `json:"candidate_revision_id"`
	Stage       string  `json:"stage"`
	Status      string  `json:"stage_status"`
	History     []event `json:"history"`
}

type event struct {
	Seq      int64  `json:"seq"`
	Revision string `json:"candidate_revision_id"`
	To       string `json:"to"`
	Status   string `json:"status"`
}

// holds reports whether a status may be what the event has led to: one that goes on can be worked out more
// closely, one that was stopped cannot.
func (e event) holds(status string) bool {
	goesOn := e.Status == "active" || e.Status == "pending"
	return status == e.Status || goesOn && (status == "eligible" || status == "expired")
}

// Registry is the first part of the path of registries, schemas are those of the others.
const Registry = "deployable-registry"

var schemas = map[string]string{
	"promotion-state": "promotion-state/v1", "promotion-plans": "promotion-plan/v1",
	"pending-experiments": "pending-experiments/v1", Registry: "deployable-registry/v1",
}

// readDocument reads an answer strictly: a member that comes twice could be read in two ways.
func readDocument(text []byte, path []string) (d document, err error) {
	if _, refused := field.Parse(text); refused != nil {
		return d, fmt.Errorf("the answer is not JSON with one meaning: %w", refused)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return d, errors.New("the answer is not of the form of a control plane's")
	}
	switch {
	case d.Schema != schemas[path[0]]:
		return d, fmt.Errorf("the answer is %.40q, not %s", d.Schema, schemas[path[0]])
	case path[0] == Registry:
		return d, nil
	case d.SubjectType != path[1] || d.SubjectID != path[2]:
		return d, fmt.Errorf("the answer is about %.80q, not %s", cmp.Or(d.SubjectID, d.SubjectType), path[2])
	case d.AsOfSeq == nil:
		return d, errors.New("the answer has no as_of_seq")
	}
	return d, nil
}
