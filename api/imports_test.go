package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "github.com/assay-run/assay/api/v1"
	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/job"
	"github.com/assay-run/assay/host/upload"
)

const (
	uploads = "/api/v1/uploads"
	imports = "/api/v1/datasets/imports"
	fetches = "/api/v1/datasets/fetches"
	octets  = "Content-Type: application/octet-stream"
	oneFile = `{"upload_ids":["upl_a"],"options":{"exchange":"here"}}`
	oneYear = `{"exchange":"here","symbols":["A/B"],"timeframe":"1h","from":"2024-01-01"}`
)

// Import implements v1.Lab.
func (l endless) Import(_ context.Context, r v1.ImportRequest) (job.Job, error) {
	return l.jobs.Add("import", job.Links{}, wait)
}

// Fetch implements v1.Lab.
func (l endless) Fetch(_ context.Context, r v1.FetchRequest) (job.Job, error) {
	return l.jobs.Add("fetch", job.Links{}, wait)
}

// small are limits that a test reaches.
func small() upload.Limits {
	l := upload.DefaultLimits()
	l.Each, l.All, l.Files, l.Patience = 100, 150, 3, 2*time.Second
	return l
}

func TestUploads(t *testing.T) {
	s := withJobs(t)
	a := s.Do(t, "POST", uploads, "time,open\n", octets)
	if got := a.JSON(t); a.StatusCode != 200 || got["bytes"] != 10.0 || got["upload_id"] == "" ||
		got["sha256"] != digest.SHA256Hex([]byte("time,open\n")) {
		t.Errorf("%d %s", a.StatusCode, a.Body)
	}
	if meta := s.Do(t, "GET", "/api/v1/meta", "").JSON(t); meta["limits"].(map[string]any)["upload_bytes"] !=
		512.0*(1<<20) {
		t.Errorf("%v", meta["limits"])
	}
	play(t, s, []exchange{
		{"no file", "POST", uploads, "", []string{octets}, 400, "VALIDATION_FAILED"},
		{"JSON", "POST", uploads, "{}", nil, 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"a form", "POST", uploads, "x", []string{"Content-Type: multipart/form-data; boundary=x"}, 415,
			"UNSUPPORTED_MEDIA_TYPE"},
		{"coded", "POST", uploads, "x", []string{octets, "Content-Encoding: gzip"}, 415,
			"UNSUPPORTED_MEDIA_TYPE"},
		{"a name", "POST", uploads + "?name=../../x", "x", []string{octets}, 400, "VALIDATION_FAILED"},
		{"foreign", "POST", uploads, "x", []string{octets, "Origin: http://evil.example"}, 403,
			"ORIGIN_FORBIDDEN"},
		{"get", "GET", uploads, "", nil, 405, "METHOD_NOT_ALLOWED"},
	})
}

func TestUploadLimits(t *testing.T) {
	s := withLimits(t, small())
	// The length is known, or it is not.
	for _, body := range []io.Reader{strings.NewReader(strings.Repeat("x", 101)),
		io.MultiReader(strings.NewReader(strings.Repeat("x", 101)))} {
		req, err := http.NewRequest("POST", s.URL+uploads, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/octet-stream")
		a := s.Send(t, req)
		details, _ := a.JSON(t)["error"].(map[string]any)["details"].(map[string]any)
		if a.Code() != "BODY_TOO_LARGE" || details["limit_bytes"] != 100.0 {
			t.Errorf("%d %s", a.StatusCode, a.Body)
		}
	}
	for _, c := range []struct {
		size int
		code string
	}{{100, ""}, {51, "BODY_TOO_LARGE"}, {10, ""}, {10, ""}, {10, "BODY_TOO_LARGE"}} {
		if a := s.Do(t, "POST", uploads, strings.Repeat("x", c.size), octets); a.Code() != c.code {
			t.Errorf("%d bytes: %d %s", c.size, a.StatusCode, a.Body)
		}
	}
}

// begin sends the head of an upload and a part of its body.
func beginUpload(t *testing.T, s *apitest.Service, part string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\n%s\r\nContent-Length: 40\r\n\r\n%s",
		uploads, octets, part)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSlowUploads(t *testing.T) {
	ring.Slow(t, "its clients pause for longer than a busy machine does")
	s := withLimits(t, small())
	c := beginUpload(t, s, "x")
	defer c.Close()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != http.StatusRequestTimeout || !resp.Close {
		t.Errorf("a client that pauses: %v %v", resp, err)
	}
	// Slow it may be, as long as it goes on: this takes longer than one pause may.
	c = beginUpload(t, s, "")
	defer c.Close()
	for range 40 {
		time.Sleep(80 * time.Millisecond)
		if _, err := c.Write([]byte("y")); err != nil {
			t.Fatal(err)
		}
	}
	if resp, err = http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 200 {
		t.Errorf("a client that goes on: %v %v", resp, err)
	}
}

func TestAbortedUploadsLeaveRoom(t *testing.T) {
	s := withLimits(t, small())
	for range 5 { // more than fit
		if err := beginUpload(t, s, strings.Repeat("x", 39)).Close(); err != nil {
			t.Fatal(err)
		}
	}
	code := "BODY_TOO_LARGE"
	for end := time.Now().Add(10 * time.Second); code != "" && time.Now().Before(end); {
		code = s.Do(t, "POST", uploads, strings.Repeat("x", 100), octets).Code()
	}
	if code != "" {
		t.Error(code)
	}
}

func TestImportsAndFetchesAreJobs(t *testing.T) {
	s := withJobs(t)
	for path, c := range map[string][2]string{imports: {oneFile, "import"}, fetches: {oneYear, "fetch"}} {
		a := s.Do(t, "POST", path, c[0], "Idempotency-Key: k"+c[1])
		one, _ := a.JSON(t)["job"].(map[string]any)
		if a.StatusCode != 202 || a.Header.Get("Location") != fmt.Sprint(jobs, "/", one["job_id"]) ||
			one["kind"] != c[1] {
			t.Errorf("%s: %d %s", path, a.StatusCode, a.Body)
		}
		if b := s.Do(t, "POST", path, c[0], "Idempotency-Key: k"+c[1]); string(b.Body) != string(a.Body) {
			t.Errorf("%s again: %d %s", path, b.StatusCode, b.Body)
		}
	}
}

func TestImportAndFetchRefusals(t *testing.T) {
	s := withJobs(t)
	bad := func(name, path, body string) exchange {
		return exchange{name, "POST", path, body, nil, 400, "VALIDATION_FAILED"}
	}
	option := func(text string) string { return strings.Replace(oneFile, `"here"`, `"here",`+text, 1) }
	change := func(from, to string) string { return strings.Replace(oneYear, from, to, 1) }
	play(t, s, []exchange{
		bad("no files", imports, `{"upload_ids":[],"options":{"exchange":"here"}}`),
		bad("one file twice", imports, `{"upload_ids":["a","a"],"options":{"exchange":"here"}}`),
		bad("no options", imports, `{"upload_ids":["a"]}`),
		bad("no exchange", imports, `{"upload_ids":["a"],"options":{}}`),
		bad("a path", imports, `{"upload_ids":["a"],"options":{"exchange":"../x"}}`),
		bad("a flag", imports, `{"upload_ids":["a"],"options":{"exchange":"--state-dir=/"}}`),
		bad("an option of the program", imports, option(`"state_dir":"/"`)),
		bad("a symbol", imports, option(`"symbol":"BTC"`)),
		bad("a timeframe", imports, option(`"timeframe":"hour"`)),
		bad("a word", imports, option(`"stamp":"middle"`)),
		bad("a line end", imports, option(`"tz":"UTC\n--merge"`)),
		bad("a zero byte", imports, option(`"columns":"time\u0000"`)),
		bad("a long list", imports, option(`"columns":"`+strings.Repeat("x,", 3000)+`"`)),
		bad("a file", imports, strings.Replace(oneFile, `]`, `],"files":["/etc/passwd"]`, 1)),
		bad("no symbols", fetches, change(`["A/B"]`, `[]`)),
		bad("a symbol", fetches, change(`A/B`, `AB`)),
		bad("an endpoint", fetches, change(`"here"`, `"here","endpoint":"http://evil.example"`)),
		bad("no time", fetches, change(`2024-01-01`, `yesterday`)),
		bad("an end before", fetches, change(`"2024-01-01"`, `"2024-01-01","to":"2023-01-01"`)),
		bad("an end alone", fetches, change(`"from":"2024-01-01"`, `"to":"2023-01-01"`)),
		bad("a query", fetches+"?x=1", oneYear),
		{"foreign", "POST", imports, oneFile, []string{"Origin: http://evil.example"}, 403,
			"ORIGIN_FORBIDDEN"},
	})
	if total := s.Do(t, "GET", jobs, "").JSON(t)["total"]; total != 0.0 {
		t.Errorf("refusals have made %v jobs", total)
	}
}
