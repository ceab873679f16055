package binance

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/assay-run/assay/host/exchange"
)

const (
	maxBody       = 16 << 20           // exchangeInfo of all symbols has some megabytes
	maxRetryAfter = 7 * 24 * time.Hour // more than the longest ban
)

// evidence is what is known of one request.
type evidence struct {
	connected  atomic.Bool // a connection was obtained: bytes may have been sent
	whole      bool        // an answer was read to its end
	status     int
	retryAfter time.Duration
	counted    counted
	body       []byte
	requestSHA string
}

type evidenceKey struct{}

// transport keeps the evidence of every request. It follows no redirect and asks no proxy.
type transport struct{ base *http.Transport }

func newTransport() transport {
	var p http.Protocols
	p.SetHTTP1(true)
	return transport{&http.Transport{
		Protocols: &p, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     60 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}}
}

func (t transport) client() *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// nothing is a body without bytes, which cannot be read again: net/http would repeat a GET by
// itself when a kept connection breaks, and what the first one met would not be known. Of
// a POST it only repeats what has not written a byte.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }
func (nothing) Close() error             { return nil }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	e, _ := req.Context().Value(evidenceKey{}).(*evidence)
	if e == nil {
		return nil, errors.New("a request without a place for its evidence")
	}
	e.requestSHA = exchange.Fingerprint(unsigned(req))
	ctx := httptrace.WithClientTrace(req.Context(),
		&httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { e.connected.Store(true) }})
	once := req.Clone(ctx)
	if once.Body == nil || once.Body == http.NoBody {
		once.Body, once.GetBody = nothing{}, nil
	}
	resp, err := t.base.RoundTrip(once)
	if err != nil {
		return nil, err
	}
	e.status = resp.StatusCode
	e.retryAfter, e.counted = retryAfter(resp.Header.Get("Retry-After")), countedBy(resp.Header)
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if closing := resp.Body.Close(); err == nil {
		err = closing
	}
	if err == nil && len(body) > maxBody {
		err = fmt.Errorf("the answer has more than %d bytes", maxBody)
	}
	e.body = body
	if err != nil {
		return nil, err
	}
	e.whole = true
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// retryAfter reads seconds or a date.
func retryAfter(text string) time.Duration {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n <= int(maxRetryAfter.Seconds()) {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// unsigned returns the request without its signature.
func unsigned(req *http.Request) []byte {
	text := []byte(req.Method + " " + req.URL.Path + "?" + withoutSignature(req.URL.RawQuery) + "\n")
	if req.GetBody != nil {
		if r, err := req.GetBody(); err == nil {
			body, _ := io.ReadAll(r)
			text = append(text, withoutSignature(string(body))...)
		}
	}
	return text
}

func withoutSignature(query string) string {
	var parts []string
	for part := range strings.SplitSeq(query, "&") {
		if !strings.HasPrefix(part, "signature=") {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "&")
}

func withEvidence(ctx context.Context) (context.Context, *evidence) {
	e := &evidence{}
	return context.WithValue(ctx, evidenceKey{}, e), e
}

// kind is what a request is about; codes mean different things to each.
type kind int

const (
	reading kind = iota
	submitting
	canceling
	querying
)

// duplicateText is the text of -2010 when the client order id is open already.
const duplicateText = "Duplicate order sent."

// badSignature is the exchange's code for a secret that is not the key's, or of another kind.
const badSignature = -1022

// keysWanted names the keys this connector signs with.
const keysWanted = "this connector signs with HMAC keys, not with Ed25519 or RSA"

// rejects are the codes that, with status 400, say that a request was not executed and
// never will be. What is not here is Unknown.
func rejects(code int) bool {
	switch {
	case code <= -1100 && code >= -1106, code <= -1114 && code >= -1119, code <= -1196 && code >= -1199:
		return true
	}
	return slices.Contains([]int{-1013, -1014, -1020, -1022, -1108, -1111, -1112, -1121, -1128, -1130, -1158,
		-1165, -1166, -1168, -2010}, code)
}

// classify returns what an answer that is no success means.
func classify(k kind, status, code int, message string) exchange.Outcome {
	switch {
	case status == http.StatusTeapot:
		return exchange.Banned
	case status == http.StatusTooManyRequests && (code == -1003 || code == -1015):
		return exchange.Throttled
	case (status == 400 || status == 401) && (code == -1002 || code == -2014 || code == -2015):
		return exchange.AuthFailed
	case k == reading && status == 400 && code == badSignature:
		return exchange.AuthFailed // nothing else of the account can be read either
	case status != 400:
		return exchange.Unknown
	case code == -1021:
		return exchange.Clock
	case k == canceling && code == -2011:
		return exchange.NotOpen
	case k == querying && code == -2013:
		return exchange.NotFound
	case k == submitting && code == -2010 && message == duplicateText:
		return exchange.Duplicate
	case (k == submitting || k == reading) && rejects(code):
		return exchange.Rejected
	}
	return exchange.Unknown
}

// refusal reads the body of an error; false: it is none of the exchange's.
func refusal(body []byte) (code int, message string, ok bool) {
	var e struct {
		Code *int    `json:"code"`
		Msg  *string `json:"msg"`
	}
	if json.Unmarshal(body, &e) != nil || e.Code == nil || e.Msg == nil {
		return 0, "", false
	}
	return *e.Code, *e.Msg, true
}
