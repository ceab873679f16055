package docs_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/assay-run/assay/api/docs"
)

func TestHeaders(t *testing.T) {
	base := serve(t, sample(t))
	types := map[string]string{
		"/docs/init.js":   "text/javascript; charset=utf-8",
		"/docs/scalar.js": "text/javascript; charset=utf-8", "/docs/style.css": "text/css; charset=utf-8",
	}
	for _, p := range pages() {
		types[p] = "text/html; charset=utf-8"
	}
	for path, contentType := range types {
		t.Run(path, func(t *testing.T) {
			resp, body := do(t, "GET", base+path)
			h := resp.Header
			if resp.StatusCode != 200 || h.Get("Content-Type") != contentType ||
				h.Get("Cache-Control") != "no-cache" || h.Get("X-Service-API-Version") != "v1" ||
				h.Get("X-Content-Type-Options") != "nosniff" ||
				h.Get("Content-Length") != strconv.Itoa(len(body)) {
				t.Errorf("%d %v", resp.StatusCode, h)
			}
			if want := strings.HasPrefix(path,
				"/docs"); (h.Get("Content-Security-Policy") == policy) != want {
				t.Errorf("policy: %q", h.Get("Content-Security-Policy"))
			}
			tag := h.Get("ETag")
			if !regexp.MustCompile(`^"[0-9a-f]{32}"$`).MatchString(tag) {
				t.Fatalf("the entity tag is not strong: %s", tag)
			}
			head, nothing := do(t, "HEAD", base+path)
			if head.StatusCode != 200 || len(nothing) != 0 ||
				head.Header.Get("Content-Length") != h.Get("Content-Length") ||
				head.Header.Get("ETag") != tag {
				t.Errorf("HEAD: %d %v", head.StatusCode, head.Header)
			}
			same, nothing := do(t, "GET", base+path, `If-None-Match: "x", W/`+tag)
			if same.StatusCode != 304 || len(nothing) != 0 || same.Header.Get("ETag") != tag ||
				same.Header.Get("X-Service-API-Version") != "v1" {
				t.Errorf("If-None-Match: %d %v", same.StatusCode, same.Header)
			}
			if other, _ := do(t, "GET", base+path, `If-None-Match: "x"`); other.StatusCode != 200 {
				t.Errorf("another tag: %d", other.StatusCode)
			}
			if post, _ := do(t, "POST", base+path); post.StatusCode != 405 ||
				post.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("POST: %d %v", post.StatusCode, post.Header)
			}
		})
	}
	for _, path := range []string{"/docs/", "/docs/errors/", "/docs/index.html", "/docs/scalar.js.gz",
		"/docs/licenses/go.tsv"} {
		if resp, _ := do(t, "GET", base+path); resp.StatusCode != 404 {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

func TestGzip(t *testing.T) {
	base := serve(t, sample(t))
	for _, path := range []string{"/docs/scalar.js", "/docs/style.css", "/docs/licenses"} {
		_, plain := do(t, "GET", base+path)
		resp, zipped := do(t, "GET", base+path, "Accept-Encoding: br, gzip")
		if resp.Header.Get("Content-Encoding") != "gzip" ||
			!strings.HasSuffix(resp.Header.Get("ETag"), `-gzip"`) || len(zipped) >= len(plain) {
			t.Errorf("%s: %v", path, resp.Header)
		}
		if got := unzip(t, zipped); !bytes.Equal(got, plain) {
			t.Errorf("%s: the compressed and the plain body differ", path)
		}
		if resp, _ := do(t, "GET", base+path, "Accept-Encoding: gzip",
			"If-None-Match: "+resp.Header.Get("ETag")); resp.StatusCode != 304 {
			t.Errorf("%s: the compressed tag does not match: %d", path, resp.StatusCode)
		}
		if resp, _ := do(t, "GET", base+path,
			"Accept-Encoding: gzip;q=0"); resp.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: gzip was refused and sent", path)
		}
	}
}

func unzip(t *testing.T, data []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestVendoredFile(t *testing.T) {
	v, err := docs.Vendored()
	if err != nil {
		t.Fatal(err)
	}
	if v.Name != "@scalar/api-reference" || v.Version != "1.72.1" || v.License != "MIT" || v.Source == "" {
		t.Errorf("third_party.json: %+v", v)
	}
	zipped, err := os.ReadFile(v.File)
	if err != nil {
		t.Fatal(err)
	}
	plain := unzip(t, zipped)
	hash := func(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }
	if hash(zipped) != v.SHA256 || hash(plain) != v.ContentSHA256 {
		t.Errorf("the file is not the one of third_party.json: %s, unpacked %s", hash(zipped), hash(plain))
	}
	// gzip -n: no name and no time in the header, so that the same content gives the same file.
	if zipped[3] != 0 || !bytes.Equal(zipped[4:8], make([]byte, 4)) {
		t.Errorf("the header of %s has a name or a time: % x", v.File, zipped[:10])
	}
	license, err := os.ReadFile(v.LicenseFile)
	if err != nil || !bytes.Contains(license, []byte("MIT License")) ||
		!bytes.Contains(license, []byte("Scalar")) {
		t.Errorf("%s: %v", v.LicenseFile, err)
	}
	resp, body := do(t, "GET", serve(t, docs.Options{})+"/docs/scalar.js", "Accept-Encoding: gzip")
	if resp.StatusCode != 200 || !bytes.Equal(body, zipped) {
		t.Error("the stored bytes are not sent as they are")
	}
}

func TestReferenceOptions(t *testing.T) {
	script := get(t, serve(t, docs.Options{})+"/docs/init.js")
	m := regexp.MustCompile(
		`(?s)Scalar\.createApiReference\("#reference", \{(.*?)\n\s*\}\);`).FindStringSubmatch(script)
	if m == nil {
		t.Fatalf("no options in\n%s", script)
	}
	got := strings.Join(strings.Fields(m[1]), "")
	want := `url:"/openapi.json",withDefaultFonts:false,telemetry:false,hideClientButton:true,showDeveloperTools:"never",` +
		`agent:{disabled:true},mcp:{disabled:true},proxyUrl:"",`
	if got != want {
		t.Errorf("options\n%s\nwant\n%s", got, want)
	}
}
