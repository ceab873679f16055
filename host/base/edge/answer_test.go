package edge

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

func TestAcceptsGzip(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "gzip": true, "GZIP": true, "br, gzip;q=0.5": true, "gzip;q=0": false,
		"gzip; q=0.000": false, "*": true,
		"*;q=0": false, "gzip, *;q=0": true, "*, gzip;q=0": false, "identity": false, "x-gzip": false,
		"gzip;q=x": false,
	} {
		if got := AcceptsGzip(http.Header{"Accept-Encoding": {text}}); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestMatchesTag(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, `"a"`: true, `W/"a"`: true, `"b", "a"`: true, `"a-gzip"`: true, "*": true, `"b"`: false,
		"a": true,
	} {
		if got := MatchesTag(http.Header{"If-None-Match": {text}}, "a"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestRequestID(t *testing.T) {
	for id, echoed := range map[string]bool{"a.B-9_": true, "": false, strings.Repeat("x", 64): true,
		strings.Repeat("x", 65): false, "a\n": false, "é": false} {
		if got := RequestID(http.Header{"X-Request-Id": {id}}); (got == id) != echoed ||
			!requestIDPattern.MatchString(got) {
			t.Errorf("%q: %q", id, got)
		}
	}
}

func send(method string, a *Answer, headers ...string) *http.Response {
	r := httptest.NewRequest(method, "/x", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	SetHeaders(w.Header(), "id", "")
	if err := Send(w, r, a); err != nil {
		SendProblem(w, r, err)
	}
	return w.Result()
}

func TestSend(t *testing.T) {
	body := map[string]string{"a": strings.Repeat("<&>", 400)}
	plain := send("GET", &Answer{Body: body, HashTag: true})
	text, _ := io.ReadAll(plain.Body)
	if !bytes.Contains(text, []byte("<&>")) || bytes.HasSuffix(text, []byte("\n")) ||
		plain.Header.Get("Content-Length") != strconv.Itoa(len(text)) {
		t.Errorf("%s", text)
	}
	zipped := send("GET", &Answer{Body: body, HashTag: true}, "Accept-Encoding", "gzip")
	z, err := gzip.NewReader(zipped.Body)
	if err != nil {
		t.Fatal(err)
	}
	if un, _ := io.ReadAll(z); !bytes.Equal(un, text) ||
		zipped.Header.Get("ETag") == plain.Header.Get("ETag") {
		t.Error("gzip changes the body, or not the tag")
	}
	head := send("HEAD", &Answer{Body: body, HashTag: true})
	if rest, _ := io.ReadAll(head.Body); len(rest) != 0 ||
		head.Header.Get("Content-Length") != plain.Header.Get("Content-Length") {
		t.Error("HEAD differs from GET")
	}
	if small := send("GET", &Answer{Body: 1}, "Accept-Encoding",
		"gzip"); small.Header.Get("Content-Encoding") != "" ||
		small.Header.Get("Cache-Control") != "no-store" {
		t.Error("a small body is compressed")
	}
	weak := send("GET", &Answer{Body: 1, WeakTag: "w"}, "If-None-Match", `W/"w"`)
	if weak.StatusCode != 200 || weak.Header.Get("ETag") != `W/"w"` ||
		weak.Header.Get("Cache-Control") != "no-cache" {
		t.Error("a weak tag must not lead to 304, and needs no-cache")
	}
	stream := send("GET",
		&Answer{Stream: func(w io.Writer) error {
			_, err := io.WriteString(w, "{}")
			return err
		}, Tag: "t"}, "If-None-Match", `"t"`)
	if stream.StatusCode != 304 || stream.Header.Get("Content-Type") != "" {
		t.Errorf("stream: %d", stream.StatusCode)
	}
	bad := send("GET", &Answer{Body: func() {}})
	if bad.StatusCode != 500 {
		t.Errorf("what cannot be written: %d", bad.StatusCode)
	}
}

// teapot is a problem.
type teapot struct{ closes bool }

func (teapot) Error() string { return "short and stout" }
func (teapot) Status() int   { return http.StatusTeapot }

func (p teapot) Extra() (http.Header, bool) { return http.Header{"Retry-After": {"1"}}, p.closes }

func (teapot) Body(requestID, path string) []byte { return []byte(requestID + " " + path) }

func TestSendProblem(t *testing.T) {
	r := httptest.NewRequest("POST", "/api/v1/x", strings.NewReader("unread"))
	lingered := false
	var denied Denial
	info := &Info{RequestID: "id", Linger: func() {
		lingered = true
	}, deny: func(d Denial) Problem { denied = d; return teapot{} }}
	r = r.WithContext(With(r.Context(), info))
	w := httptest.NewRecorder()
	SendProblem(w, r, teapot{})
	if w.Code != 418 || w.Header().Get("Connection") != "close" || !lingered ||
		w.Header().Get("Retry-After") != "1" || w.Body.String() != "id /api/v1/x" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	w = httptest.NewRecorder()
	info.BodyRead = true
	cause := errors.New("secret cause")
	SendProblem(w, r, cause)
	if w.Code != 418 || denied.Reason != Internal || denied.Cause != cause ||
		w.Header().Get("Connection") != "" {
		t.Errorf("%d %+v", w.Code, denied)
	}
	w = httptest.NewRecorder()
	SendProblem(w, r, teapot{closes: true})
	if w.Header().Get("Connection") != "close" {
		t.Error("the connection stays")
	}
}

func TestAsset(t *testing.T) {
	a := NewAsset(bytes.Repeat([]byte("x"), 5000),
		http.Header{"Content-Type": {"text/plain"}, "Cache-Control": {"public, max-age=31536000, immutable"}})
	get := func(headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/x", nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		SetHeaders(w.Header(), "id", "")
		a.ServeHTTP(w, r)
		return w
	}
	plain, zipped := get(), get("Accept-Encoding", "gzip")
	if plain.Body.Len() != 5000 || zipped.Body.Len() > 100 ||
		zipped.Header().Get("Content-Encoding") != "gzip" ||
		plain.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" {
		t.Errorf("%d and %d bytes", plain.Body.Len(), zipped.Body.Len())
	}
	for _, tag := range []string{plain.Header().Get("ETag"), zipped.Header().Get("ETag")} {
		if w := get("If-None-Match", tag); w.Code != 304 {
			t.Errorf("%s: %d", tag, w.Code)
		}
	}
}
