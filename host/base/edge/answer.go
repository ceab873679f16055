package edge

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
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
	// ContentType is application/json if empty, Status 200 if zero.
	ContentType string
	Status      int
	// Tag is the strong entity tag without quotes. HashTag takes it from the bytes. SameTag
	// keeps it for the compressed form.
	Tag              string
	HashTag, SameTag bool
	// WeakTag is an entity tag for long polls only: it never leads to 304.
	WeakTag string
	Header  http.Header
}

// Encode writes JSON as these servers do: no HTML escaping, no line end.
func Encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// Send writes an answer. The error is that of a body that could not be made; if
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
	maps.Copy(h, a.Header)
	h.Set("Content-Type", cmp.Or(a.ContentType, "application/json"))
	tag := a.Tag
	if a.HashTag {
		tag = tagOf(body)
	}
	zip := (a.Stream != nil || len(body) >= gzipFrom) && AcceptsGzip(r.Header)
	if notModified := setTags(h, r, tag, a.WeakTag, zip && !a.SameTag); notModified {
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
		body = compress(body)
	}
	sendBytes(w, r, cmp.Or(a.Status, http.StatusOK), body)
	return nil
}

// tagOf returns the entity tag of some bytes.
func tagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:16])
}

func setTags(h http.Header, r *http.Request, tag, weak string, suffix bool) (notModified bool) {
	if (weak != "" || tag != "") && h.Get("Cache-Control") == "no-store" {
		h.Set("Cache-Control", "no-cache")
	}
	if weak != "" {
		h.Set("ETag", `W/"`+weak+`"`)
	}
	if tag == "" {
		return false
	}
	ending := ""
	if suffix {
		ending = "-gzip"
	}
	h.Set("ETag", `"`+tag+ending+`"`)
	return MatchesTag(r.Header, tag)
}

func sendBytes(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // an error means that the client is gone
	}
}

func sendStream(w http.ResponseWriter, r *http.Request, write func(io.Writer) error, zip bool) error {
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	if !zip {
		return write(w)
	}
	z := gzips.Get().(*gzip.Writer)
	defer gzips.Put(z)
	z.Reset(w)
	if err := write(z); err != nil {
		return err
	}
	return z.Close()
}

var gzips = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	return z
}}

func compress(body []byte) []byte {
	var buf bytes.Buffer
	z := gzips.Get().(*gzip.Writer)
	defer gzips.Put(z)
	z.Reset(&buf)
	_, _ = z.Write(body) // a bytes.Buffer takes everything
	_ = z.Close()
	return buf.Bytes()
}

// AcceptsGzip reports whether the client asks for gzip.
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

// MatchesTag reports whether If-None-Match names the tag, in any encoding.
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

// Asset is a fixed file, made, hashed and compressed when it is first asked for.
type Asset struct {
	header http.Header
	body   func() assetBody
}

type assetBody struct {
	plain, zipped []byte
	tag           string
}

// NewAsset returns a file. The header is sent with it, Content-Type included.
func NewAsset(data []byte, header http.Header) *Asset {
	return NewMadeAsset(func() []byte { return data }, header)
}

// NewMadeAsset returns a file whose content is what a function returns. It is called once, at
// the first request.
func NewMadeAsset(content func() []byte, header http.Header) *Asset {
	return &Asset{header: header, body: sync.OnceValue(func() assetBody { return packBody(content()) })}
}

func packBody(data []byte) assetBody {
	b := assetBody{plain: data, tag: tagOf(data)}
	if len(data) >= gzipFrom {
		var buf bytes.Buffer
		z, _ := gzip.NewWriterLevel(&buf, gzip.BestCompression)
		_, _ = z.Write(data) // a bytes.Buffer takes everything
		_ = z.Close()
		if buf.Len() < len(data) {
			b.zipped = buf.Bytes()
		}
	}
	return b
}

// ServeHTTP implements http.Handler.
func (a *Asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, b := w.Header(), a.body()
	maps.Copy(h, a.header)
	zip := b.zipped != nil && AcceptsGzip(r.Header)
	if setTags(h, r, b.tag, "", zip) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := b.plain
	if zip {
		h.Set("Content-Encoding", "gzip")
		body = b.zipped
	}
	sendBytes(w, r, http.StatusOK, body)
}

// requestIDPattern is what a client's own request id must look like to be echoed.
var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// RequestID returns the client's request id if it has the right form, else a new one.
func RequestID(h http.Header) string {
	if id := h.Get("X-Request-Id"); requestIDPattern.MatchString(id) {
		return id
	}
	return NewRequestID()
}

// NewRequestID makes a request id.
func NewRequestID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime aborts instead
	return hex.EncodeToString(b[:])
}

// VersionHeader is sent in this spelling, which http.Header.Set would change.
const VersionHeader = "X-Service-API-Version"

// SetHeaders sets what every response carries.
func SetHeaders(h http.Header, requestID, vary string) {
	h[VersionHeader] = []string{"v1"}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Request-Id", requestID)
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", vary)
}
