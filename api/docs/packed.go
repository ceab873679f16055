package docs

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/assay-run/assay/host/base/edge"
)

// packed is a file that is kept compressed. A client that takes gzip gets the
// stored bytes; for any other they are unpacked on the way.
type packed struct {
	zipped []byte
	size   int64
	tag    string
	header http.Header
}

func newPacked(zipped []byte, header http.Header) (*packed, error) {
	z, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, fmt.Errorf("docs: unpack: %w", err)
	}
	sum := sha256.New()
	size, err := io.Copy(sum, z)
	if err != nil {
		return nil, fmt.Errorf("docs: unpack: %w", err)
	}
	return &packed{zipped: zipped, size: size, tag: hex.EncodeToString(sum.Sum(nil)[:16]), header: header}, nil
}

// ServeHTTP implements http.Handler.
func (p *packed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	for k, v := range p.header {
		h[k] = v
	}
	zip := edge.AcceptsGzip(r.Header)
	tag, size := p.tag, p.size
	if zip {
		tag, size = tag+"-gzip", int64(len(p.zipped))
	}
	h.Set("ETag", `"`+tag+`"`)
	h.Set("Cache-Control", "no-cache")
	if edge.MatchesTag(r.Header, p.tag) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if zip {
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	w.WriteHeader(http.StatusOK)
	switch {
	case r.Method == http.MethodHead:
	case zip:
		_, _ = w.Write(p.zipped) // the client is gone: nobody is left to be told
	default:
		z, err := gzip.NewReader(bytes.NewReader(p.zipped))
		if err == nil { // newPacked has read it once
			_, _ = io.Copy(w, z)
		}
	}
}
