package control

import (
	"strconv"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/field"
)

func (p *Plane) getState(r *request) (*answer, error) {
	kind, id := r.Params[0], r.Params[1]
	if err := promotion.CheckSubject(kind, id, ""); err != nil {
		return nil, err
	}
	return p.look(func(w *promotion.World, now time.Time) (any, *bundle.Error) { return w.State(kind, id, now) }, "state", kind, id)
}

func (p *Plane) getPlan(r *request) (*answer, error) {
	kind, id, stage := r.Params[0], r.Params[1], r.Params[2]
	if err := promotion.CheckSubject(kind, id, stage); err != nil {
		return nil, err
	}
	return p.look(func(w *promotion.World, now time.Time) (any, *bundle.Error) { return w.Plan(kind, id, stage, now) }, "plan", kind, id, stage)
}

// getExperiments takes the stage as a further segment or as ?stage=.
func (p *Plane) getExperiments(r *request) (*answer, error) {
	kind, id, stage := r.Params[0], r.Params[1], ""
	if len(r.Params) > 2 {
		stage = r.Params[2]
	} else if q := r.URL.Query(); q.Has("stage") {
		if stage = q.Get("stage"); stage == "" {
			return nil, field.Refuse(field.InvalidStage, "", "stage: one of research, paper, canary, live")
		}
	}
	if err := promotion.CheckSubject(kind, id, stage); err != nil {
		return nil, err
	}
	return p.look(func(w *promotion.World, now time.Time) (any, *bundle.Error) {
		return w.Experiments(kind, id, stage, now)
	}, "experiments", kind, id, stage)
}

func (p *Plane) getBundle(r *request) (*answer, error) {
	id := r.Params[0]
	if !field.IsRevision(id) {
		return nil, field.Refuse(field.InvalidIdentifier, "", "this is no candidate_revision_id")
	}
	body, err := p.store.Bundle(r.Context(), id)
	return &answer{raw: body, tag: true}, err
}

// factBody is one entry: what was signed, what it means, and the proof that it is in the log.
type factBody struct {
	Seq      int64         `json:"seq"`
	Envelope dsse.Envelope `json:"envelope"`
	Facts    []rawFact     `json:"facts"`
	Seal     *ledger.Seal  `json:"seal"` // with the newest checkpoint
}

// rawFact is canonical JSON.
type rawFact []byte

// MarshalJSON implements json.Marshaler.
func (f rawFact) MarshalJSON() ([]byte, error) { return f, nil }

func (p *Plane) getFact(r *request) (*answer, error) {
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
	signed := body.Seal.Sigstore.Envelope
	body.Envelope = dsse.Envelope{Payload: signed.Payload, PayloadType: signed.PayloadType, Signatures: []dsse.Signature{{Sig: signed.Signatures[0].Sig}}}
	return &answer{body: body, tag: true}, nil
}

func (p *Plane) getCheckpoint(*request) (*answer, error) {
	var note string
	err := p.store.Look(func(_ *promotion.World, log ledger.View) error {
		note = log.Note
		return nil
	})
	return &answer{raw: []byte(note), contentType: "text/plain; charset=utf-8", tag: true}, err
}

func (p *Plane) getTrustedRoot(r *request) (*answer, error) {
	at, err := p.store.Started(r.Context())
	if err != nil {
		return nil, err
	}
	start, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return nil, err
	}
	body, err := ledger.TrustedRoot(p.store.LogKey(), start)
	return &answer{raw: body, tag: true}, err
}

func (p *Plane) getStatementKey(*request) (*answer, error) {
	return &answer{raw: p.store.Keys().Public.PEM(), contentType: "application/x-pem-file", tag: true}, nil
}

func (p *Plane) getLogKey(*request) (*answer, error) {
	return &answer{raw: []byte(p.store.LogKey().VKey() + "\n"), contentType: "text/plain; charset=utf-8", tag: true}, nil
}

func (p *Plane) getLogInfo(*request) (*answer, error) {
	var info ledger.Info
	err := p.store.Look(func(_ *promotion.World, log ledger.View) error {
		info = log.Info()
		return nil
	})
	return &answer{body: info, tag: true}, err
}

// getTrust is the trust.json in force, which the log has as well: whose keys count, and for
// what. There is none in open mode.
func (p *Plane) getTrust(*request) (*answer, error) {
	var trust *bundle.Trust
	err := p.store.Look(func(w *promotion.World, _ ledger.View) error {
		trust = w.Trust()
		return nil
	})
	if err != nil {
		return nil, err
	}
	if trust == nil {
		return nil, say(codeNotFound, "Open mode: there is no trust.json.")
	}
	text, err := trust.Encode()
	return &answer{raw: text, tag: true}, err
}

// getHealth reports whether the log holds together and who may sign; it is always 200.
func (p *Plane) getHealth(*request) (*answer, error) {
	type check struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	}
	now := p.opts.Now().UTC()
	log, trust, status := check{"pass", ""}, check{"pass", ""}, "healthy"
	var size int64
	err := p.store.Look(func(w *promotion.World, view ledger.View) error {
		size = view.Head.Size
		switch t := w.Trust(); {
		case t == nil:
			trust, status = check{"warn", "open mode: no trust.json, nothing goes beyond paper"}, "degraded"
		case t.Expired(now):
			trust, status = check{"warn", "trust.json has expired: only stops are taken"}, "degraded"
		}
		return nil
	})
	if d := p.store.Damage(); d != nil || err != nil {
		log, status = check{"fail", damageText[d.Code]}, "unhealthy"
	}
	return &answer{body: map[string]any{
		"status": status, "service": "governance", "api_version": "v1", "timestamp": now.Format("2006-01-02T15:04:05.000Z"),
		"log_origin": p.store.Origin(), "log_size": size, "checks": map[string]check{"ledger": log, "trust": trust},
	}}, nil
}

// issued is a registry that was signed.
type issued struct {
	size int64
	at   time.Time
	body []byte
}

// getRegistry answers with the registry of a family. The one that was signed last is given
// again until the log has grown or it is an hour old.
func (p *Plane) getRegistry(r *request) (*answer, error) {
	if err := p.damaged(); err != nil {
		return nil, err
	}
	family, now := r.Params[0], p.opts.Now().UTC().Truncate(time.Second)
	var reg *promotion.Registry
	var size int64
	var kept []byte
	err := p.store.Look(func(w *promotion.World, log ledger.View) error {
		size = log.Head.Size
		if kept = p.kept(family, size, now); kept != nil {
			return nil
		}
		var refused *bundle.Error
		if reg, refused = w.Registry(family, now); refused != nil {
			return refused
		}
		return nil
	})
	if err != nil || kept != nil {
		return &answer{raw: kept, tag: true}, err
	}
	payload, err := reg.Payload()
	if err != nil {
		return nil, err
	}
	env, err := dsse.Sign(bundle.PayloadRegistry, payload, p.store.Keys().Statement)
	if err != nil {
		return nil, err
	}
	reg.Attestation = &env
	body, err := edge.Encode(reg)
	if err != nil {
		return nil, err
	}
	p.opts.At.Reach("registry.signed")
	p.mu.Lock()
	defer p.mu.Unlock()
	// Another request may have come here first: its answer is given where it is as good, or
	// of a longer log, since who has seen that takes an older one for a rollback.
	if old, ok := p.registries[family]; ok && (old.size > size || old.fresh(size, now)) {
		return &answer{raw: old.body, tag: true}, nil
	}
	p.registries[family] = issued{size, now, body}
	return &answer{raw: body, tag: true}, nil
}

func (p *Plane) kept(family string, size int64, now time.Time) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old, ok := p.registries[family]; ok && old.fresh(size, now) {
		return old.body
	}
	return nil
}

func (i issued) fresh(size int64, now time.Time) bool {
	age := now.Sub(i.at)
	return i.size == size && age >= 0 && age < promotion.RegistryReissue
}
