package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/assay-run/assay/api/v1/problem"
)

// gzipFrom is the size from which a body is compressed on request.
const gzipFrom = 1024

// Answer is a success, ready to be written.
type Answer struct {
	// Body is written as JSON; Raw is written as it is; Stream writes itself.
	// Exactly one is set.
	Body   any
	Raw    []byte
	Stream func(io.Writer) error
	// ContentType is application/json if empty.
	ContentType string
	// Tag is the strong entity tag without quotes. HashTag takes it from the bytes.
	Tag     string
	HashTag bool
	// WeakTag is an entity tag for long polls only: it never leads to 304.
	WeakTag string
	Header  http.Header
}

// Encode writes JSON as this API does: no HTML escaping, no line end.
func Encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// Send writes an answer. The error says that the body could not be made; if
// nothing was written yet the caller can still send a problem.
func Send(w http.ResponseWriter, r *http.Request, a *Answer) error {
	body := a.Raw
	if a.Body != nil {
		var err error
		if body, err = Encode(a.Body); err != nil {
			return err
		}
	}
	h := w.Header()
	for k, v := range a.Header {
		h[k] = v
	}
	contentType := a.ContentType
	if contentType == "" {
		contentType = "application/json"
	}
	h.Set("Content-Type", contentType)
	tag := a.Tag
	if a.HashTag {
		sum := sha256.Sum256(body)
		tag = hex.EncodeToString(sum[:16])
	}
	zip := (a.Stream != nil || len(body) >= gzipFrom) && AcceptsGzip(r.Header)
	if notModified := setTags(h, r, tag, a.WeakTag, zip); notModified {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if zip {
		h.Set("Content-Encoding", "gzip")
	}
	if a.Stream != nil {
		return sendStream(w, r, a.Stream, zip)
	}
	if zip {
		body = From(r.Context()).shared.compress(body)
	}
	return sendBytes(w, r, http.StatusOK, body)
}

func setTags(h http.Header, r *http.Request, tag, weak string, zip bool) (notModified bool) {
	if (weak != "" || tag != "") && h.Get("Cache-Control") == "no-store" {
		h.Set("Cache-Control", "no-cache")
	}
	if weak != "" {
		h.Set("ETag", `W/"`+weak+`"`)
	}
	if tag == "" {
		return false
	}
	if zip {
		h.Set("ETag", `"`+tag+`-gzip"`)
	} else {
		h.Set("ETag", `"`+tag+`"`)
	}
	return MatchesTag(r.Header, tag)
}

func sendBytes(w http.ResponseWriter, r *http.Request, status int, body []byte) error {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client is gone: nobody is left to be told
	}
	return nil
}

func sendStream(w http.ResponseWriter, r *http.Request, write func(io.Writer) error, zip bool) error {
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	if !zip {
		return write(w)
	}
	pool := &From(r.Context()).shared.gzips
	z := pool.Get().(*gzip.Writer)
	defer pool.Put(z)
	z.Reset(w)
	if err := write(z); err != nil {
		return err
	}
	return z.Close()
}

func (s *Shared) compress(body []byte) []byte {
	var buf bytes.Buffer
	z := s.gzips.Get().(*gzip.Writer)
	defer s.gzips.Put(z)
	z.Reset(&buf)
	_, _ = z.Write(body) // a bytes.Buffer takes everything
	_ = z.Close()
	return buf.Bytes()
}

// SendProblem writes the error body of err. An error that is no Problem
// becomes INTERNAL_ERROR, whose body tells nothing of the cause. If the request's
// body has not been read the connection is closed: its rest must never be taken
// for the next request.
func SendProblem(w http.ResponseWriter, r *http.Request, err error) {
	var p *problem.Problem
	if !errors.As(err, &p) {
		p = problem.New(problem.InternalError)
	}
	info := From(r.Context())
	h := w.Header()
	for k, v := range p.Header {
		h[k] = v
	}
	h.Set("Content-Type", "application/json")
	h.Del("ETag")
	if p.Close || r.ContentLength != 0 && !info.BodyRead {
		h.Set("Connection", "close")
		if info.Linger != nil {
			info.Linger()
		}
	}
	body := p.Body(info.RequestID, r.URL.EscapedPath())
	if len(body) >= gzipFrom && AcceptsGzip(r.Header) {
		h.Set("Content-Encoding", "gzip")
		body = info.shared.compress(body)
	}
	_ = sendBytes(w, r, p.Status(), body)
}

// AcceptsGzip says whether the client asks for gzip.
func AcceptsGzip(h http.Header) bool {
	accepted := false
	for _, item := range strings.Split(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, params, _ := strings.Cut(item, ";")
		coding = strings.ToLower(strings.TrimSpace(coding))
		if coding != "gzip" && coding != "*" {
			continue
		}
		accepted = !zeroQuality(params)
		if coding == "gzip" {
			return accepted
		}
	}
	return accepted
}

func zeroQuality(params string) bool {
	key, value, _ := strings.Cut(strings.TrimSpace(params), "=")
	if !strings.EqualFold(strings.TrimSpace(key), "q") {
		return false
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return err != nil || q <= 0
}

// MatchesTag says whether If-None-Match names the tag, in any encoding.
func MatchesTag(h http.Header, tag string) bool {
	for _, item := range strings.Split(strings.Join(h.Values("If-None-Match"), ","), ",") {
		item = strings.TrimSpace(item)
		if item == "*" {
			return true
		}
		item = strings.Trim(strings.TrimPrefix(item, "W/"), `"`)
		if strings.TrimSuffix(item, "-gzip") == tag {
			return true
		}
	}
	return false
}
