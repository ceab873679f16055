package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
)

// Asset is a fixed file, hashed and compressed once.
type Asset struct {
	plain, zipped []byte
	tag           string
	header        http.Header
}

// NewAsset prepares a file. The header is sent with it, Content-Type included.
func NewAsset(data []byte, header http.Header) *Asset {
	sum := sha256.Sum256(data)
	a := &Asset{plain: data, tag: hex.EncodeToString(sum[:16]), header: header}
	if len(data) >= gzipFrom {
		var buf bytes.Buffer
		z, _ := gzip.NewWriterLevel(&buf, gzip.BestCompression)
		_, _ = z.Write(data) // a bytes.Buffer takes everything
		_ = z.Close()
		if buf.Len() < len(data) {
			a.zipped = buf.Bytes()
		}
	}
	return a
}

// ServeHTTP implements http.Handler.
func (a *Asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	for k, v := range a.header {
		h[k] = v
	}
	zip := a.zipped != nil && AcceptsGzip(r.Header)
	if setTags(h, r, a.tag, "", zip) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := a.plain
	if zip {
		h.Set("Content-Encoding", "gzip")
		body = a.zipped
	}
	_ = sendBytes(w, r, http.StatusOK, body)
}
