package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// maxAnswer bounds what is read of an answer, in bytes, unless [Plane.MaxAnswer] does.
const maxAnswer = 16 << 20

// CodeFamilyNotFound is how a plane refuses a family that it does not know.
const CodeFamilyNotFound = "FAMILY_NOT_FOUND"

// Plane is a control plane at an address: the one client of its HTTP API. It is a [Source].
// What it returns is unread: nothing of it is believed but what is signed.
type Plane struct {
	// MaxAnswer, if set, bounds an answer in bytes.
	MaxAnswer int64

	base   *url.URL
	client *http.Client
}

// ParseURL checks an address: http or https, a host, perhaps a path. Credentials are refused:
// the address is logged.
func ParseURL(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("is not the address of a control plane: write one such as " +
			"http://127.0.0.1:8010, without credentials")
	}
	return strings.TrimSuffix(u.String(), "/"), nil
}

// NewPlane makes a Plane for an address. It follows no redirects: what is asked for is at one
// place.
func NewPlane(base string, client http.Client) (*Plane, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Plane{base: u, client: &client, MaxAnswer: maxAnswer}, nil
}

// Registry implements deploy.Source.
func (p *Plane) Registry(ctx context.Context, family string, from int64) ([]byte, error) {
	query := url.Values{"from": {strconv.FormatInt(from, 10)}}
	status, body, err := p.send(ctx, http.MethodGet, nil, query,
		"deployable-registry", url.PathEscape(family))
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusOK:
		return body, nil
	case status == http.StatusNotFound && errorCode(body) == CodeFamilyNotFound:
		return nil, ErrUnknownFamily
	}
	return nil, fmt.Errorf("it answered %d %s", status, errorCode(body))
}

// Do sends a request to a path below the address and reads the whole answer. Its errors name
// neither method nor address, which may hold credentials.
func (p *Plane) Do(
	ctx context.Context, method string, body []byte, path ...string,
) (status int, answer []byte, err error) {
	return p.send(ctx, method, body, nil, path...)
}

// Ask is Do of a GET with a query.
func (p *Plane) Ask(ctx context.Context, query url.Values, path ...string) (status int, answer []byte,
	err error) {
	return p.send(ctx, http.MethodGet, nil, query, path...)
}

func (p *Plane) send(
	ctx context.Context, method string, body []byte, query url.Values, path ...string,
) (status int, answer []byte, err error) {
	to := p.base.JoinPath(path...)
	to.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := p.client.Do(req)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, p.MaxAnswer+1))
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("its answer broke off: %w", err)
	case int64(len(answer)) > p.MaxAnswer:
		return 0, nil, fmt.Errorf("its answer is longer than %d MiB", p.MaxAnswer>>20)
	}
	return resp.StatusCode, answer, nil
}

// Close drops idle connections.
func (p *Plane) Close() { p.client.CloseIdleConnections() }

// Problem is the error envelope of a control plane.
type Problem struct {
	Code, Message string
	// Pointer is where in the body that was posted the fault is, Reason the further word of an
	// INVALID_ATTESTATION; both may be empty. RequestID finds the plane's log line.
	Pointer, Reason, RequestID string
}

// ReadProblem returns nil for a body that is no error envelope.
func ReadProblem(body []byte) *Problem {
	var envelope struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
			Details struct {
				Pointer   string `json:"pointer"`
				Reason    string `json:"reason"`
				RequestID string `json:"request_id"`
			} `json:"details"`
		} `json:"error"`
	}
	e := &envelope.Error
	if json.Unmarshal(body, &envelope) != nil || e.Code == "" {
		return nil
	}
	return &Problem{e.Code, e.Message, e.Details.Pointer, e.Details.Reason, e.Details.RequestID}
}

// errorCode returns the code of an error envelope, "" if the body is none. It is for people.
func errorCode(body []byte) string {
	const maxCode = 64 // longer than any code
	if e := ReadProblem(body); e != nil && len(e.Code) <= maxCode {
		return e.Code
	}
	return ""
}
