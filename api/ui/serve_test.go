package ui_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/assay-run/assay/api/v1/apitest"
)

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; " +
	"form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"

const (
	forever    = "public, max-age=31536000, immutable"
	revalidate = "no-cache"
)

var contentTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	"": "text/html; charset=utf-8",
}

var loads = regexp.MustCompile(
	`<(?:script|link|img|iframe|form|base|object|embed|source)\b[^>]*?\s(?:src|href|data|action|srcset)="([^"]*)"`)

// cached returns every address with the Cache-Control that it must have.
func cached(t *testing.T, base string) map[string]string {
	t.Helper()
	all := map[string]string{"/ui": revalidate, "/api/v1/ui": revalidate, "/ui/licenses": revalidate,
		"/ui/runs": revalidate, "/ui/families/any": revalidate}
	for name := range dist(t) {
		if name != "index.html" {
			all["/ui/"+name] = forever
		}
	}
	for _, m := range loads.FindAllStringSubmatch(apitest.Get(t, base+"/ui/licenses"), -1) {
		all[m[1]] = forever
	}
	return all
}

func TestTheBundleIsComplete(t *testing.T) {
	base := serve(t)
	kinds := []*regexp.Regexp{
		regexp.MustCompile(`^index\.html$`), regexp.MustCompile(`^app-([0-9a-f]{10})\.js$`),
		regexp.MustCompile(`^charts-([0-9a-f]{10})\.js$`), regexp.MustCompile(`^pages-([0-9a-f]{10})\.js$`),
		regexp.MustCompile(`^(?:app|pages)-([0-9a-f]{10})\.css$`), regexp.MustCompile(`^icon-([0-9a-f]{10})\.svg$`),
	}
	files := dist(t)
	if len(files) != len(kinds)+1 {
		t.Errorf("dist has %d files, want %d", len(files), len(kinds)+1)
	}
	for name, data := range files {
		at := slices.IndexFunc(kinds, func(k *regexp.Regexp) bool { return k.MatchString(name) })
		if at < 0 {
			t.Errorf("dist has %s", name)
			continue
		}
		address := "/ui"
		if m := kinds[at].FindStringSubmatch(name); len(m) == 2 {
			address += "/" + name
			if sum := sha256.Sum256(data); hex.EncodeToString(sum[:])[:10] != m[1] {
				t.Errorf("%s: the hash of the contents is %x", name, sum[:5])
			}
		}
		if got := apitest.Get(t, base+address); got != string(data) {
			t.Errorf("%s is not served as it is", name)
		}
	}
}

func TestPagesLoadOnlyWhatIsServed(t *testing.T) {
	base := serve(t)
	want := map[string]int{"/ui": 3, "/ui/licenses": 2}
	for page, n := range want {
		found := loads.FindAllStringSubmatch(apitest.Get(t, base+page), -1)
		if len(found) != n {
			t.Errorf("%s loads %d files, want %d: %v", page, len(found), n, found)
		}
		for _, m := range found {
			if !strings.HasPrefix(m[1], "/ui/") {
				t.Errorf("%s loads %s", page, m[1])
			} else if resp, _ := apitest.Do(t, "GET", base+m[1]); resp.StatusCode != 200 {
				t.Errorf("%s loads %s: %d", page, m[1], resp.StatusCode)
			}
		}
	}
	imported := 0
	for name, text := range dist(t) {
		for _, m := range regexp.MustCompile(
			`\b(?:import\s*\(?|from)\s*["']([./][^"']*)["']`).FindAllSubmatch(text, -1) {
			imported++
			if resp, _ := apitest.Do(t, "GET",
				base+"/ui/"+strings.TrimPrefix(string(m[1]), "./")); resp.StatusCode != 200 ||
				path.Ext(name) != ".js" {
				t.Errorf("%s imports %s: %d", name, m[1], resp.StatusCode)
			}
		}
	}
	if imported != 2 {
		t.Errorf("%d imports, want those of the chart library and of the pages", imported)
	}
	if page := apitest.Get(t,
		base+"/ui"); regexp.MustCompile(
		`<style|\sstyle=|\son[a-z]+=|<script(?:>|[^>]*>[^<])|https?:`).MatchString(page) {
		t.Errorf("the policy forbids a part of\n%s", page)
	}
}

func TestSamePageAtEveryAddress(t *testing.T) {
	base := serve(t)
	a, one := apitest.Do(t, "GET", base+"/ui")
	for _, address := range []string{
		"/api/v1/ui", "/ui/runs", "/ui/runs/no-such-run", "/ui/compare?ids=a,b", "/ui/families", "/ui/families/any",
		"/ui/falsifications/any", "/ui/data", "/ui/live",
	} {
		b, two := apitest.Do(t, "GET", base+address)
		if !bytes.Equal(one, two) || len(one) == 0 || a.Header.Get("ETag") != b.Header.Get("ETag") {
			t.Errorf("%s: %d bytes %s and %d bytes %s", address, len(one), a.Header.Get("ETag"), len(two),
				b.Header.Get("ETag"))
		}
	}
}

func TestHeaders(t *testing.T) {
	base := serve(t)
	for address, cache := range cached(t, base) {
		t.Run(address, func(t *testing.T) {
			resp, body := apitest.Do(t, "GET", base+address)
			want := map[string]string{
				"Content-Type": contentTypes[path.Ext(address)], "Content-Security-Policy": policy,
				"Cache-Control":  cache,
				"Content-Length": strconv.Itoa(len(body)), "X-Service-API-Version": "v1",
				"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
				"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
				"Cross-Origin-Resource-Policy": "same-origin",
				"Vary":                         "Accept-Encoding, Prefer", "Content-Encoding": "",
				"Access-Control-Allow-Origin": "", "Set-Cookie": "",
			}
			for name, value := range want {
				if got := resp.Header.Get(name); got != value {
					t.Errorf("%s: %q, want %q", name, got, value)
				}
			}
			tag := resp.Header.Get("ETag")
			if resp.StatusCode != 200 || resp.Header.Get("X-Request-Id") == "" ||
				!regexp.MustCompile(`^"[0-9a-f]{32}"$`).MatchString(tag) {
				t.Errorf("%d %v", resp.StatusCode, resp.Header)
			}
			head, nothing := apitest.Do(t, "HEAD", base+address)
			if head.StatusCode != 200 || len(nothing) != 0 ||
				head.Header.Get("Content-Length") != want["Content-Length"] ||
				head.Header.Get("ETag") != tag {
				t.Errorf("HEAD: %d %v", head.StatusCode, head.Header)
			}
			same, nothing := apitest.Do(t, "GET", base+address, `If-None-Match: "x", `+tag)
			if same.StatusCode != 304 || len(nothing) != 0 || same.Header.Get("ETag") != tag ||
				same.Header.Get("Cache-Control") != cache ||
				same.Header.Get("X-Service-API-Version") != "v1" {
				t.Errorf("If-None-Match: %d %v", same.StatusCode, same.Header)
			}
			if other, _ := apitest.Do(t, "GET", base+address, `If-None-Match: "x"`); other.StatusCode != 200 {
				t.Errorf("another tag: %d", other.StatusCode)
			}
			if post, _ := apitest.Do(t, "POST", base+address); post.StatusCode != 405 ||
				post.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("POST: %d %v", post.StatusCode, post.Header)
			}
		})
	}
}

func TestGzip(t *testing.T) {
	base := serve(t)
	for address := range cached(t, base) {
		plain := apitest.Get(t, base+address)
		resp, zipped := apitest.Do(t, "GET", base+address, "Accept-Encoding: br, gzip")
		if len(plain) < 1024 {
			if resp.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s has %d bytes and is compressed", address, len(plain))
			}
			continue
		}
		if resp.Header.Get("Content-Encoding") != "gzip" ||
			!strings.HasSuffix(resp.Header.Get("ETag"), `-gzip"`) || len(zipped) >= len(plain) {
			t.Fatalf("%s: %v", address, resp.Header)
		}
		if unzip(t, zipped) != plain {
			t.Errorf("%s: the compressed and the plain body differ", address)
		}
		if again, _ := apitest.Do(t, "GET", base+address, "Accept-Encoding: gzip",
			"If-None-Match: "+resp.Header.Get("ETag")); again.StatusCode != 304 {
			t.Errorf("%s: the compressed tag does not match: %d", address, again.StatusCode)
		}
		if refused, _ := apitest.Do(t, "GET", base+address,
			"Accept-Encoding: gzip;q=0"); refused.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: gzip was refused and sent", address)
		}
	}
}

func unzip(t *testing.T, data []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// firstLoad is the budget of everything that a browser fetches for a page; the chart
// library comes with a run of the runner, the script of the pages with any other page.
const firstLoad = 150 * 1024

func TestFirstLoadIsSmall(t *testing.T) {
	base := serve(t)
	addresses := []string{"/ui"}
	for _, m := range loads.FindAllStringSubmatch(apitest.Get(t, base+"/ui"), -1) {
		addresses = append(addresses, m[1])
	}
	size := func(address string) int {
		_, body := apitest.Do(t, "GET", base+address, "Accept-Encoding: gzip")
		t.Logf("%7d %s", len(body), address)
		return len(body)
	}
	total := 0
	for _, address := range addresses {
		total += size(address)
	}
	charts, pages := 0, 0
	for name := range dist(t) {
		switch kind, _, _ := strings.Cut(name, "-"); kind {
		case "charts":
			charts = size("/ui/" + name)
		case "pages":
			pages += size("/ui/" + name)
		}
	}
	if total+max(charts, pages) > firstLoad || charts == 0 || pages == 0 || len(addresses) > 4 {
		t.Errorf("%d bytes in %d requests, then %d or %d, at most %d in all",
			total, len(addresses), charts, pages, firstLoad)
	}
}

func TestUnknownAssets(t *testing.T) {
	base := serve(t)
	for _, address := range []string{
		"/ui/app.js", "/ui/index.html", "/ui/app-0000000000.js", "/ui/licenses/", "/ui/licenses.html",
		"/ui/licenses.css", "/ui/dist/index.html",
		"/ui/third_party/preact/LICENSE", "/ui/assets/licenses.html", "/api/v1/ui/", "/api/v1/ui/licenses",
		"/ui//licenses", "/ui/../ui", "/ui/falsifications", "/ui/runs/", "/ui/runs/a/b", "/ui/jobs",
	} {
		resp, body := apitest.Do(t, "GET", base+address)
		want := `{"error":"There is nothing at this path.","status_code":404,"path":"` + address + `"}`
		if strings.HasPrefix(address, "/api/v1/") {
			want = `{"error":{"code":"NOT_FOUND","message":"There is nothing at this path.","details":{"path":"` + address +
				`","request_id":"` + resp.Header.Get("X-Request-Id") + `","status_code":404}}}`
		}
		if resp.StatusCode != 404 || string(body) != want ||
			resp.Header.Get("X-Service-API-Version") != "v1" ||
			resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s %v", address, resp.StatusCode, body, resp.Header)
		}
	}
	for _, address := range []string{"/", "/ui/"} {
		if resp, _ := apitest.Do(t, "GET", base+address); resp.StatusCode != 307 ||
			resp.Header.Get("Location") != "/ui" {
			t.Errorf("%s: %d %v", address, resp.StatusCode, resp.Header)
		}
	}
}
