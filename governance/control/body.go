package control

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/edge"
)

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
	key := strings.Join([]string{body, kind, id, stage}, "/")
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
