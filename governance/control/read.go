package control

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/field"
)

func (p *Plane) getState(r *request) (*edge.Answer, error) {
	kind, id := r.Params[0], r.Params[1]
	return p.subject("state", kind, id, "", func(w *promotion.World, now time.Time) (any, *bundle.Error) {
		return w.State(kind, id, now)
	})
}

func (p *Plane) getPlan(r *request) (*edge.Answer, error) {
	kind, id, stage := r.Params[0], r.Params[1], r.Params[2]
	return p.subject("plan", kind, id, stage, func(w *promotion.World, now time.Time) (any, *bundle.Error) {
		return w.Plan(kind, id, stage, now)
	})
}

func (p *Plane) getPortfolio(*request) (*edge.Answer, error) {
	return p.worked("portfolio", func(w *promotion.World, now time.Time) (any, *bundle.Error) {
		return promotion.PortfolioOf(w, now), nil
	})
}

// getExperiments takes the stage as a further segment or as ?stage=.
func (p *Plane) getExperiments(r *request) (*edge.Answer, error) {
	kind, id, stage := r.Params[0], r.Params[1], ""
	if len(r.Params) > 2 {
		stage = r.Params[2]
	} else if q := r.URL.Query(); q.Has("stage") {
		if stage = q.Get("stage"); stage == "" {
			return nil, field.Refuse(field.InvalidStage, "", "stage: one of research, paper, canary, live")
		}
	}
	work := func(w *promotion.World, now time.Time) (any, *bundle.Error) {
		return w.Experiments(kind, id, stage, now)
	}
	return p.subject("experiments", kind, id, stage, work)
}

func (p *Plane) getBundle(r *request) (*edge.Answer, error) {
	id := r.Params[0]
	if !field.IsRevision(id) {
		return nil, field.Refuse(field.InvalidIdentifier, "", "this is no candidate_revision_id")
	}
	body, err := p.store.Bundle(r.Context(), id)
	return tagged(body, ""), err
}

// factBody is one entry: what was signed, what it means, and the proof that it is in the log.
type factBody struct {
	Seq      int64         `json:"seq"`
	Envelope dsse.Envelope `json:"envelope"`
	Facts    []rawFact     `json:"facts"`
	Seal     *ledger.Seal  `json:"seal"` // with the newest checkpoint
	// CosignedAt is when enough witnesses had cosigned a checkpoint with the entry for the first time.
	CosignedAt string `json:"cosigned_at,omitempty"`
}

// rawFact is canonical JSON.
type rawFact []byte

// MarshalJSON implements json.Marshaler.
func (f rawFact) MarshalJSON() ([]byte, error) { return f, nil }

func (p *Plane) getFact(r *request) (*edge.Answer, error) {
	seq, err := strconv.ParseInt(r.Params[0], 10, 64)
	if err != nil || seq < 0 || strconv.FormatInt(seq, 10) != r.Params[0] {
		return nil, field.Refuse(field.InvalidIdentifier, "", "the place of an entry is a number from 0")
	}
	entry, err := p.store.Entry(r.Context(), seq)
	if err != nil {
		return nil, err
	}
	body := factBody{Seq: seq, Facts: []rawFact{}}
	for _, f := range entry.Facts {
		text, err := f.Encode()
		if err != nil {
			return nil, err
		}
		body.Facts = append(body.Facts, text)
	}
	err = p.store.Look(func(_ *promotion.World, log ledger.View) (err error) {
		body.Seal, err = log.Seal(seq, entry.Entry)
		return err
	})
	if err != nil {
		return nil, err
	}
	if w := p.opts.Witnesses; w != nil {
		if at, ok := w.Earliest(seq); ok {
			body.CosignedAt = bundle.FormatTime(at)
		}
	}
	signed := body.Seal.Sigstore.Envelope
	body.Envelope = dsse.Envelope{Payload: signed.Payload, PayloadType: signed.PayloadType,
		Signatures: []dsse.Signature{{Sig: signed.Signatures[0].Sig}}}
	return encoded(body, nil)
}

func (p *Plane) getCheckpoint(*request) (*edge.Answer, error) {
	note, err := look(p, func(_ *promotion.World, log ledger.View) string {
		if w := p.opts.Witnesses; w != nil {
			return w.Note(log.Head, log.Note)
		}
		return log.Note
	})
	return tagged([]byte(note), "text/plain; charset=utf-8"), err
}

func (p *Plane) getTrustedRoot(r *request) (*edge.Answer, error) {
	at, err := p.store.Started(r.Context())
	if err != nil {
		return nil, err
	}
	start, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return nil, err
	}
	body, err := ledger.TrustedRoot(start, p.store.Keys().Ring.Logs()...)
	return tagged(body, ""), err
}

func (p *Plane) getStatementKey(*request) (*edge.Answer, error) {
	return tagged(p.store.Keys().Public.PEM(), "application/x-pem-file"), nil
}

func (p *Plane) getLogKey(*request) (*edge.Answer, error) {
	return tagged([]byte(p.store.LogKey().VKey()+"\n"), "text/plain; charset=utf-8"), nil
}

func (p *Plane) getLogInfo(*request) (*edge.Answer, error) {
	info, err := look(p, func(_ *promotion.World, log ledger.View) ledger.Info { return log.Info() })
	return encoded(info, err)
}

// getTrust is the trust.json in force, which the log has as well: whose keys count, and for
// what. There is none in open mode.
func (p *Plane) getTrust(*request) (*edge.Answer, error) {
	trust, err := look(p, func(w *promotion.World, _ ledger.View) *bundle.Trust { return w.Trust() })
	if err != nil {
		return nil, err
	}
	if trust == nil {
		return nil, say(edge.CodeNotFound, "Open mode: there is no trust.json.")
	}
	text, err := trust.Encode()
	return tagged(text, ""), err
}

// getHealth reports whether the log holds together and who may sign; it is always 200.
func (p *Plane) getHealth(r *request) (*edge.Answer, error) {
	type check struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	}
	now := p.opts.Now().UTC()
	log, trust, status := check{"pass", ""}, check{"pass", ""}, "healthy"
	var size int64
	away := refresh(r.Context(), p)
	err := p.store.Look(func(w *promotion.World, view ledger.View) error {
		size = view.Head.Size
		switch t := w.Trust(); {
		case t == nil:
			trust = check{"warn", "open mode: no trust.json, no replay or approval counts"}
			status = "degraded"
		case t.Expired(now):
			trust, status = check{"warn", "trust.json has expired: only stops are taken"}, "degraded"
		}
		return nil
	})
	if d := p.store.Damage(); d != nil {
		log, status = check{"fail", damageText[d.Code]}, "unhealthy"
	} else if err != nil || away != nil {
		log, status = check{"fail", unavailableText}, "unhealthy"
	}
	body := map[string]any{
		"status": status, "service": "governance", "api_version": "v1",
		"timestamp":  now.Format("2006-01-02T15:04:05.000Z"),
		"log_origin": p.store.Origin(), "log_size": size,
		"checks": map[string]check{"ledger": log, "trust": trust},
	}
	if standing, shared := p.store.Standing(r.Context()); shared && standing.Err == nil {
		body["writer"] = map[string]any{"self": standing.Writer, "address": standing.Address,
			"epoch": standing.Epoch}
	}
	return &edge.Answer{Body: body}, nil
}

// maxBodies is how many bytes of answers are kept.
const maxBodies = 64 << 20

// bodies are answers that were worked out: a read is a function of the log and of the
// moment that it is worked out for, so that it stays the same for up to a minute. Of a
// family of a thousand revisions each costs a second or so, and its readers come often.
type bodies struct {
	mu    sync.Mutex
	size  int64 // of the log
	at    time.Time
	bytes int
	kept  map[string]*body
}

// body is one answer; whoever comes first works it out, the others wait for it.
type body struct {
	once sync.Once
	text []byte
	tag  string
	err  error
}

// of is the place of an answer, by its path without prefix.
func (b *bodies) of(key string, size int64, at time.Time) *body {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept == nil || b.size != size || !b.at.Equal(at) || b.bytes > maxBodies {
		b.kept, b.bytes, b.size, b.at = map[string]*body{}, 0, size, at
	}
	found, ok := b.kept[key]
	if !ok {
		found = &body{}
		b.kept[key] = found
	}
	return found
}

// done counts an answer, and forgets a refusal: there is no end of paths to be refused.
func (b *bodies) done(key string, done *body) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept[key] != done {
		return
	}
	if done.err != nil {
		delete(b.kept, key)
	}
	b.bytes += len(done.text)
}

var errUnfinished = errors.New("the answer was not worked out")

// look reads something of what the log comes to.
func look[T any](p *Plane, get func(w *promotion.World, log ledger.View) T) (out T, err error) {
	err = p.store.Look(func(w *promotion.World, log ledger.View) error {
		out = get(w, log)
		return nil
	})
	return out, err
}

// subject answers with a body of package promotion, worked out once for each log and moment.
func (p *Plane) subject(
	body, kind, id, stage string, work func(w *promotion.World, now time.Time) (any, *bundle.Error),
) (*edge.Answer, error) {
	if refused := promotion.CheckSubject(kind, id, stage); refused != nil {
		return nil, refused
	}
	return p.worked(strings.Join([]string{body, kind, id, stage}, "/"), work)
}

// worked answers with what a key names, worked out once for each log and moment.
func (p *Plane) worked(
	key string, work func(w *promotion.World, now time.Time) (any, *bundle.Error),
) (*edge.Answer, error) {
	a := &edge.Answer{SameTag: true}
	err := p.store.Look(func(w *promotion.World, log ledger.View) error {
		now := p.opts.Now()
		found := p.bodies.of(key, log.Head.Size, w.AsOf(now))
		found.once.Do(func() {
			defer p.bodies.done(key, found)
			found.err = errUnfinished // until it is known better, also after a panic
			out, refused := work(w, now)
			if refused != nil {
				found.err = refused
				return
			}
			found.text, found.err = edge.Encode(out)
			found.tag = tagOf(found.text)
		})
		a.Raw, a.Tag = found.text, found.tag
		return found.err
	})
	return a, err
}
