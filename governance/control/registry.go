package control

import (
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/edge"
)

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
