package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	v1 "github.com/assay-run/assay/api/v1"
	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/schema"
	"github.com/assay-run/assay/host/base/digest"
)

// Recorder checks answers: the headers that every response carries, the envelope of
// errors, and status, headers and body of known operations. Unlike clients it does
// not tolerate fields that the document does not name.
type Recorder struct {
	doc     map[string]any
	strict  *schema.Document
	mu      sync.Mutex // guards what follows: tests that run side by side share one
	schemas map[string]*schema.Schema
}

// NewRecorder reads the embedded document.
func NewRecorder() (*Recorder, error) {
	var doc map[string]any
	if err := json.Unmarshal(v1.OpenAPI(), &doc); err != nil {
		return nil, err
	}
	tree, err := digest.Parse(v1.OpenAPI())
	if err != nil {
		return nil, err
	}
	closeObjects(tree)
	strict, err := schema.FromTree(tree.(map[string]any))
	if err != nil {
		return nil, err
	}
	return &Recorder{doc: doc, strict: strict, schemas: map[string]*schema.Schema{}}, nil
}

// closeObjects makes every object schema refuse what it does not name.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		_, named := v["properties"].(map[string]any)
		_, stated := v["additionalProperties"]
		_, typed := v["type"]
		if named && typed && !stated {
			v["additionalProperties"] = false
		}
		for _, e := range v {
			closeObjects(e)
		}
	case []any:
		for _, e := range v {
			closeObjects(e)
		}
	}
}

// Check reports everything that is wrong with an answer.
func (r *Recorder) Check(t testing.TB, method, path string, resp *http.Response, body []byte) {
	t.Helper()
	for _, fault := range r.faults(method, path, resp, body) {
		t.Errorf("%s %s -> %d: %s", method, path, resp.StatusCode, fault)
	}
}

func (r *Recorder) faults(method, path string, resp *http.Response, body []byte) []string {
	faults := everyResponse(resp)
	if method == http.MethodHead {
		if len(body) > 0 {
			faults = append(faults, "HEAD has a body")
		}
		method = http.MethodGet
		body = nil
	}
	operation := r.operation(method, path)
	if resp.StatusCode >= 400 {
		return append(faults, r.errorFaults(operation, path, resp, body)...)
	}
	if operation != nil {
		faults = append(faults, r.operationFaults(method, path, operation, resp, body)...)
	}
	return faults
}

func everyResponse(resp *http.Response) []string {
	var faults []string
	for name, want := range map[string]string{
		"X-Service-API-Version": "v1", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
		"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := resp.Header.Values(name); len(got) != 1 || got[0] != want {
			faults = append(faults, fmt.Sprintf("header %s is %q, want %q", name, got, want))
		}
	}
	for _, name := range []string{"X-Request-Id", "Cache-Control"} {
		if resp.Header.Get(name) == "" {
			faults = append(faults, "header "+name+" is missing")
		}
	}
	for name := range resp.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			faults = append(faults, "header "+name+" must not be sent")
		}
	}
	return faults
}

func (r *Recorder) operation(method, path string) map[string]any {
	path, _, _ = strings.Cut(path, "?")
	op, _ := dig(r.doc, "paths", r.template(path), strings.ToLower(method)).(map[string]any)
	return op
}

// template is the path of the document that a path is of, itself if there is none.
func (r *Recorder) template(path string) string {
	paths, _ := r.doc["paths"].(map[string]any)
	if _, exact := paths[path]; exact {
		return path
	}
	have := strings.Split(path, "/")
	for name := range paths {
		want := strings.Split(name, "/")
		same := strings.Contains(name, "{") && len(want) == len(have)
		for i := 0; same && i < len(want); i++ {
			same = want[i] == have[i] || have[i] != "" && strings.HasPrefix(want[i], "{")
		}
		if same {
			return name
		}
	}
	return path
}

func dig(v any, path ...string) any {
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

func (r *Recorder) errorFaults(
	operation map[string]any, path string, resp *http.Response, body []byte,
) []string {
	var faults []string
	if got := resp.Header.Get("Content-Type"); got != "application/json" {
		faults = append(faults, "content type of an error is "+got)
	}
	if body == nil {
		return faults
	}
	if bytes.HasPrefix(body, []byte(`{"error":"`)) {
		return append(faults, r.plainFaults(path, resp, body)...)
	}
	if path != "" && !problem.Coded(path) {
		faults = append(faults, "the path is none of the API, but the error has a code")
	}
	faults = append(faults, r.match("/components/schemas/Error", body)...)
	var envelope struct {
		Error struct {
			Code    problem.Code
			Details map[string]any
		}
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		return append(faults, err.Error())
	}
	code, details := envelope.Error.Code, envelope.Error.Details
	if want := problem.Lookup(code).Status; want != resp.StatusCode {
		faults = append(faults, fmt.Sprintf("code %s belongs to status %d", code, want))
	}
	if details["request_id"] != resp.Header.Get("X-Request-Id") {
		faults = append(faults, "details.request_id differs from the header")
	}
	if slices.Contains([]int{404, 405, 500}, resp.StatusCode) &&
		details["status_code"] != float64(resp.StatusCode) {
		faults = append(faults, "details.status_code is missing")
	}
	if declared, ok := operation["x-error-codes"].([]any); ok &&
		!slices.Contains(declared, any(string(code))) {
		faults = append(faults, fmt.Sprintf("code %s is not declared", code))
	}
	return faults
}

// plainFaults are those of the body without a code. The path of a request that was
// sent byte by byte is not known here: it is "".
func (r *Recorder) plainFaults(path string, resp *http.Response, body []byte) []string {
	faults := r.match("/components/schemas/PlainError", body)
	var stated struct {
		StatusCode int `json:"status_code"`
		Path       string
	}
	if err := json.Unmarshal(body, &stated); err != nil {
		return append(faults, err.Error())
	}
	path, _, _ = strings.Cut(path, "?")
	switch {
	case stated.StatusCode != resp.StatusCode:
		faults = append(faults, fmt.Sprintf("status_code is %d", stated.StatusCode))
	case path == "" || stated.Path == "":
	case stated.Path != path, problem.Coded(path):
		faults = append(faults, fmt.Sprintf("the body has no code, and path %q", stated.Path))
	}
	return faults
}

func (r *Recorder) operationFaults(method, path string, operation map[string]any, resp *http.Response,
	body []byte) []string {
	path, _, _ = strings.Cut(path, "?")
	path = r.template(path)
	status := strconv.Itoa(resp.StatusCode)
	declared, ok := dig(operation, "responses", status).(map[string]any)
	if !ok {
		return []string{"the status is not declared"}
	}
	var faults []string
	headers, _ := declared["headers"].(map[string]any)
	for name := range headers {
		required, _ := dig(r.doc, "components", "headers", name, "required").(bool)
		if required && resp.Header.Get(name) == "" {
			faults = append(faults, "declared header "+name+" is missing")
		}
	}
	content, _ := declared["content"].(map[string]any)
	if content == nil || body == nil {
		return faults
	}
	mediaType, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if _, ok := content[mediaType]; !ok {
		return append(faults, "content type "+mediaType+" is not declared")
	}
	if mediaType != "application/json" {
		return faults // bytes have no schema
	}
	pointer := ""
	for _, token := range []string{"paths", path, strings.ToLower(method), "responses", status, "content",
		mediaType, "schema"} {
		pointer = schema.Join(pointer, token)
	}
	return append(faults, r.match(pointer, body)...)
}

// schema compiles the schema at a pointer once.
func (r *Recorder) schema(pointer string) (*schema.Schema, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.schemas[pointer]; s != nil {
		return s, nil
	}
	s, err := r.strict.Compile(pointer)
	if err == nil {
		r.schemas[pointer] = s
	}
	return s, err
}

func (r *Recorder) match(pointer string, body []byte) []string {
	s, err := r.schema(pointer)
	if err != nil {
		return []string{err.Error()}
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return []string{"the body is not JSON: " + err.Error()}
	}
	var faults []string
	for _, x := range s.Validate(v) {
		faults = append(faults, fmt.Sprintf("body %s %s (%s)", x.Pointer, x.Message, x.Rule))
	}
	return faults
}
