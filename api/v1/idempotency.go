package v1

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"slices"
	"sync"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/edge"
)

// keptKeys is how many successful starts are remembered.
const keptKeys = 64

// maxHeader is the longest value of a header.
const maxHeader = 128

// keyring remembers the answers to starts by Idempotency-Key. Starts with one key
// happen one after the other, so that a repetition never overtakes the first.
type keyring struct {
	salt [32]byte // bodies may hold secrets: their hashes mean nothing outside this process

	mu   sync.Mutex
	busy map[string]chan struct{}
	done []keyed // oldest first
}

type keyed struct {
	key    string
	body   [32]byte
	answer *edge.Answer
}

func newKeyring() *keyring {
	k := &keyring{busy: map[string]chan struct{}{}}
	_, _ = rand.Read(k.salt[:]) // never fails: the runtime aborts instead
	return k
}

// header is the one value of a header, "" if the request has none.
func header(h http.Header, name string) (string, error) {
	values := h.Values(name)
	if len(values) == 0 {
		return "", nil
	}
	key := values[0]
	visible := len(key) >= 1 && len(key) <= maxHeader && len(values) == 1
	for _, c := range []byte(key) {
		visible = visible && c > ' ' && c < 0x7f
	}
	if !visible {
		return "", problem.Say(problem.MalformedRequest, name+" must be one value of 1 to 128 visible ASCII characters.")
	}
	return key, nil
}

// once calls f unless it has succeeded for the key before; then it repeats the answer. The target is
// what the body was sent to.
func (k *keyring) once(key, target string, body []byte, f func() (*edge.Answer, error)) (*edge.Answer, error) {
	if key == "" {
		return f()
	}
	sum := k.sum(target, body)
	wait := k.claim(key)
	for wait != nil {
		<-wait
		wait = k.claim(key)
	}
	defer k.release(key)
	if before := k.find(key); before != nil {
		if before.body != sum {
			return nil, problem.New(problem.IdempotencyKeyReused)
		}
		answer := *before.answer
		answer.Header = answer.Header.Clone()
		answer.Header.Set("Idempotency-Replayed", "true")
		return &answer, nil
	}
	answer, err := f()
	if err == nil {
		k.keep(keyed{key, sum, answer})
	}
	return answer, err
}

// sum identifies a body however it is spelled.
func (k *keyring) sum(target string, body []byte) [32]byte {
	canonical, err := digest.CanonicalJSON(body)
	if err != nil {
		canonical = body
	}
	h := sha256.New()
	h.Write(k.salt[:])
	h.Write([]byte(target + "\n"))
	h.Write(canonical)
	return [32]byte(h.Sum(nil))
}

// claim takes the key, or returns what to wait for.
func (k *keyring) claim(key string) <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c, taken := k.busy[key]; taken {
		return c
	}
	k.busy[key] = make(chan struct{})
	return nil
}

func (k *keyring) release(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.busy[key])
	delete(k.busy, key)
}

func (k *keyring) find(key string) *keyed {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.done {
		if k.done[i].key == key {
			return &keyed{key, k.done[i].body, k.done[i].answer}
		}
	}
	return nil
}

func (k *keyring) keep(e keyed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.done = append(k.done, e)
	if len(k.done) > keptKeys {
		k.done = slices.Delete(k.done, 0, len(k.done)-keptKeys)
	}
}
