package v1

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/schema"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/edge"
)

// maxBody is the largest body.
const maxBody = 1 << 20

// request is a body that has passed every check but those of the host.
type request[In any] struct {
	*http.Request
	in   In
	body []byte
}

// checker is an In with rules that no schema expresses.
type checker interface{ check() []schema.Violation }

// op makes a handler of an operation with a body: media type, size, JSON and schema
// are checked before f is called.
func op[In any](a *API, s *schema.Schema, f func(*request[In]) (*edge.Answer, error)) http.Handler {
	return a.handler(func(r *http.Request) (*edge.Answer, error) {
		body, err := readBody(r)
		if err != nil {
			return nil, err
		}
		if err := validate(s, body); err != nil {
			return nil, err
		}
		req := &request[In]{Request: r, body: body}
		if err := json.Unmarshal(body, &req.in); err != nil {
			return nil, err // the schema has let something through that the type does not hold
		}
		if c, ok := any(&req.in).(checker); ok {
			if bad := c.check(); len(bad) > 0 {
				return nil, invalid(bad)
			}
		}
		return f(req)
	})
}

// bodiless makes a handler of an operation that accepts nothing, {} or null. The edge
// does the same for every GET.
func (a *API) bodiless(f func(*http.Request) (*edge.Answer, error)) http.Handler {
	return a.handler(func(r *http.Request) (*edge.Answer, error) {
		if err := a.NoBody(r); err != nil {
			return nil, err
		}
		return f(r)
	})
}

// NoBody refuses a body other than nothing, {} or null.
func (a *API) NoBody(r *http.Request) error {
	body, err := readBody(r)
	if err != nil || len(body) == 0 || string(bytes.TrimSpace(body)) == "null" {
		return err
	}
	return validate(a.schemas.empty, body)
}

func (a *API) handler(f func(*http.Request) (*edge.Answer, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := f(r)
		if err == nil {
			err = edge.Send(w, r, answer)
			if err != nil && answer.Stream != nil {
				// The answer has begun: ending the connection is all that can be said.
				a.opts.Logger.Debug("an answer was cut short", "path", r.URL.Path, "error", err)
				panic(http.ErrAbortHandler)
			}
		}
		if err != nil {
			err = a.translate(r, err)
			edge.SendProblem(w, r, err)
		}
	})
}

// readBody reads the body; empty if there is none.
func readBody(r *http.Request) ([]byte, error) {
	info := edge.From(r.Context())
	var first [1]byte
	n := 0
	if r.ContentLength < 0 {
		var err error
		if n, err = io.ReadFull(r.Body, first[:]); err != nil && err != io.EOF {
			return nil, unreadable(err)
		}
	}
	if r.ContentLength == 0 {
		info.BodyRead = true
		return nil, nil
	}
	if r.ContentLength < 0 && n == 0 {
		info.EndBody()
		return nil, nil
	}
	if !hasType(r.Header, "application/json") {
		return nil, problem.New(problem.UnsupportedMediaType)
	}
	if r.ContentLength > maxBody {
		return nil, tooLarge()
	}
	rest, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, unreadable(err)
	}
	body := append(first[:n], rest...)
	if len(body) > maxBody {
		return nil, tooLarge()
	}
	info.EndBody()
	return body, nil
}

// hasType reports whether a body is of a media type, without content encoding.
func hasType(h http.Header, want string) bool {
	types := h.Values("Content-Type")
	if len(types) != 1 {
		return false
	}
	if coding := strings.Join(h.Values("Content-Encoding"), ","); coding != "" &&
		!strings.EqualFold(coding, "identity") {
		return false
	}
	mediaType, _, err := mime.ParseMediaType(types[0])
	return mediaType == want && (err == nil || errors.Is(err, mime.ErrInvalidMediaParameter))
}

func tooLarge() error {
	return problem.New(problem.BodyTooLarge).With("limit_bytes", maxBody).WithClose()
}

func unreadable(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return problem.New(problem.RequestTimeout).WithClose()
	}
	return problem.WithMessage(problem.MalformedRequest,
		"The body could not be read to its end.").WithCause(err).WithClose()
}

// validate checks JSON and schema.
func validate(s *schema.Schema, body []byte) error {
	tree, err := digest.Parse(body)
	var bad *digest.JSONError
	if errors.As(err, &bad) {
		return problem.WithMessage(problem.InvalidJSON, "The body is not valid JSON: "+bad.Place()+".").
			With("offset", bad.Offset).With("line", bad.Line).With("reason", bad.Fault)
	}
	if violations := s.Validate(tree); len(violations) > 0 {
		return invalid(violations)
	}
	return nil
}

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

// header returns the one value of a header, "" if the request has none.
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
		return "", problem.WithMessage(problem.MalformedRequest,
			name+" must be one value of 1 to 128 visible ASCII characters.")
	}
	return key, nil
}

// once calls f unless it has succeeded for the key before; then it repeats the answer. The target is
// what the body was sent to.
func (k *keyring) once(key, target string, body []byte,
	f func() (*edge.Answer, error)) (*edge.Answer, error) {
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

// Prefer is what a client prefers, as far as it is understood. Negative means not
// asked for; values out of bounds are ignored like unknown preferences.
type Prefer struct {
	Wait   time.Duration
	Points int
	Rows   int
}

// ParsePrefer reads the Prefer headers (RFC 7240); the first of equal names counts.
func ParsePrefer(h http.Header) Prefer {
	p := Prefer{Wait: -1, Points: -1, Rows: -1}
	seen := map[string]bool{}
	for _, item := range strings.Split(strings.Join(h.Values("Prefer"), ","), ",") {
		item, _, _ = strings.Cut(item, ";")
		name, value, _ := strings.Cut(item, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		value = strings.TrimSpace(value)
		if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		p.set(name, value)
	}
	return p
}

func (p *Prefer) set(name, value string) {
	if value == "" || len(value) > 9 || strings.Trim(value, "0123456789") != "" {
		return
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		return
	}
	switch {
	case name == "wait" && n >= 1 && n <= 30:
		p.Wait = time.Duration(n) * time.Second
	case name == "points" && n >= 2 && n <= 4000:
		p.Points = n
	case name == "rows" && n <= 1000:
		p.Rows = n
	}
}

// AppliedWait returns the Preference-Applied value of a wait.
func (p Prefer) AppliedWait() string {
	if p.Wait < 0 {
		return ""
	}
	return "wait=" + strconv.Itoa(int(p.Wait/time.Second))
}

// AppliedSampling returns the Preference-Applied value of points and rows.
func (p Prefer) AppliedSampling() string {
	var out []string
	if p.Points >= 0 {
		out = append(out, "points="+strconv.Itoa(p.Points))
	}
	if p.Rows >= 0 {
		out = append(out, "rows="+strconv.Itoa(p.Rows))
	}
	return strings.Join(out, ", ")
}
