// Package plane fetches deployable registries over HTTP. What it returns is unread: package
// deploy believes nothing of it but what is signed.
//
// It imports host/deploy and the standard library.
package plane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/assay-run/assay/host/deploy"
)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 16 << 20

// Plane is a control plane at an address. It is a deploy.Source.
type Plane struct {
	base   string
	client *http.Client
}

// ParseURL checks an address: http or https, a host, perhaps a path. Credentials are refused:
// the address is logged.
func ParseURL(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("is no address of a control plane: write one such as http://127.0.0.1:8010, without credentials")
	}
	return strings.TrimSuffix(u.String(), "/"), nil
}

// New makes a Plane for an address that ParseURL has returned. It follows no redirects: what is
// asked for is at one place.
func New(base string, transport http.RoundTripper) *Plane {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Plane{base: base, client: &http.Client{Transport: transport, CheckRedirect: stay}}
}

// Registry implements deploy.Source.
func (p *Plane) Registry(ctx context.Context, family string) ([]byte, error) {
	status, body, err := p.Do(ctx, http.MethodGet, "/deployable-registry/"+url.PathEscape(family), nil)
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusOK:
		return body, nil
	case status == http.StatusNotFound && Code(body) == "FAMILY_NOT_FOUND":
		return nil, deploy.ErrUnknownFamily
	}
	return nil, fmt.Errorf("it answered %d %s", status, Code(body))
}

// Do sends a request and reads the whole answer.
func (p *Plane) Do(ctx context.Context, method, path string, body []byte) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, p.base+path, strings.NewReader(string(body)))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return 0, nil, plain(err)
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("its answer broke off: %w", err)
	case len(answer) > maxAnswer:
		return 0, nil, fmt.Errorf("its answer is longer than %d MiB", maxAnswer>>20)
	}
	return resp.StatusCode, answer, nil
}

// plain drops method and address, which the caller knows.
func plain(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// Close drops idle connections.
func (p *Plane) Close() { p.client.CloseIdleConnections() }

// maxCode is longer than any code.
const maxCode = 64

// Code is the code of an error envelope, "" if the body is none. It is for people only.
func Code(body []byte) string {
	var e struct{ Error struct{ Code string } }
	if json.Unmarshal(body, &e) != nil || len(e.Error.Code) > maxCode {
		return ""
	}
	return e.Error.Code
}
