package control

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/listen"
)

// answer is a success.
type answer struct {
	status      int // 200 if 0
	body        any // JSON, unless raw is set
	raw         []byte
	contentType string // application/json if empty
	location    string
	tag         bool   // with an ETag of the body
	sum         string // the ETag where it is known
}

// gzipFrom is the size from which a body is compressed on request.
const gzipFrom = 1024

var gzips = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// versionHeader is sent in this spelling, which http.Header.Set would change.
const versionHeader = "X-Service-API-Version"

var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func requestID(h http.Header) string {
	if id := h.Get("X-Request-Id"); requestIDForm.MatchString(id) {
		return id
	}
	return newRequestID()
}

func newRequestID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime aborts instead
	return hex.EncodeToString(b[:])
}

// setHeaders sets what every response carries.
func setHeaders(h http.Header, id string) {
	h[versionHeader] = []string{"v1"}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Request-Id", id)
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept-Encoding")
}

func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

func (a *answer) send(w http.ResponseWriter, r *http.Request) error {
	body := a.raw
	if body == nil {
		var err error
		if body, err = encode(a.body); err != nil {
			return err
		}
	}
	h := w.Header()
	if a.location != "" {
		h.Set("Location", a.location)
	}
	if a.tag {
		tag := a.sum
		if tag == "" {
			tag = tagOf(body)
		}
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", `"`+tag+`"`)
		if matches(r.Header, tag) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	contentType, status := a.contentType, a.status
	if contentType == "" {
		contentType = "application/json"
	}
	if status == 0 {
		status = http.StatusOK
	}
	write(w, r, status, contentType, body)
	return nil
}

// tagOf is the ETag of a body: 16 hex digits of its SHA-256.
func tagOf(body []byte) string { return digest.SHA256Hex(body)[:16] }

func write(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	if len(body) >= gzipFrom && acceptsGzip(r.Header) {
		body = compress(body)
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client is gone: nobody is left to be told
	}
}

func compress(body []byte) []byte {
	var buf bytes.Buffer
	z := gzips.Get().(*gzip.Writer)
	defer gzips.Put(z)
	z.Reset(&buf)
	_, _ = z.Write(body) // a bytes.Buffer takes everything
	_ = z.Close()
	return buf.Bytes()
}

// acceptsGzip says whether the client asks for gzip.
func acceptsGzip(h http.Header) bool {
	accepted := false
	for _, item := range strings.Split(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, params, _ := strings.Cut(item, ";")
		name := strings.ToLower(strings.TrimSpace(coding))
		if name != "gzip" && name != "*" {
			continue
		}
		accepted = true
		if key, value, ok := strings.Cut(strings.TrimSpace(params), "="); ok && strings.EqualFold(key, "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			accepted = err == nil && q > 0
		}
		if name == "gzip" {
			return accepted
		}
	}
	return accepted
}

// matches says whether If-None-Match names the tag, also as what proxies make of it that
// compress: the tag names the content, whatever its coding.
func matches(h http.Header, tag string) bool {
	for _, item := range strings.Split(strings.Join(h.Values("If-None-Match"), ","), ",") {
		item = strings.TrimSpace(item)
		if item == "*" || strings.TrimSuffix(strings.Trim(strings.TrimPrefix(item, "W/"), `"`), "-gzip") == tag {
			return true
		}
	}
	return false
}

// envelope is the body of a problem.
func (p *problem) envelope(id, path string) []byte {
	details := map[string]any{"request_id": id}
	for k, v := range p.details {
		details[k] = v
	}
	switch status := p.status(); status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusInternalServerError:
		details["path"], details["status_code"] = path, status
	}
	body, err := encode(map[string]any{"error": map[string]any{"code": p.code, "message": p.message, "details": details}})
	if err != nil {
		body, _ = encode(map[string]any{"error": map[string]any{"code": codeInternal, "message": "", "details": map[string]any{"request_id": id}}})
	}
	return body
}

// refuse is the answer to what net/http refuses before any handler: a listen.Refuse.
func refuse(status int, now time.Time) (int, http.Header, []byte) {
	code, ok := parserCodes[status]
	if !ok {
		code = codeMalformedRequest
	}
	id := newRequestID()
	h := http.Header{}
	setHeaders(h, id)
	h.Set("Content-Type", "application/json")
	h.Set("Date", now.UTC().Format(http.TimeFormat))
	p := say(code, "This is no request that can be answered.")
	return p.status(), h, p.envelope(id, "")
}

var _ listen.Refuse = refuse
