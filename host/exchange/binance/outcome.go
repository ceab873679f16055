package binance

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/assay-run/assay/host/exchange"
)

// kind is what a request is about; codes mean different things to each.
type kind int

const (
	reading kind = iota
	submitting
	canceling
	querying
)

// duplicateText is what -2010 says when the client order id is open already.
const duplicateText = "Duplicate order sent."

// badSignature is what the exchange says of a secret that is not the key's, or of another kind.
const badSignature = -1022

// keysWanted says which keys this connector signs with.
const keysWanted = "this connector signs with HMAC keys, not with Ed25519 or RSA"

// rejects are the codes that, with status 400, say that a request was not executed and
// never will be. What is not here is Unknown.
func rejects(code int) bool {
	switch {
	case code <= -1100 && code >= -1106, code <= -1114 && code >= -1119, code <= -1196 && code >= -1199:
		return true
	}
	return slices.Contains([]int{-1013, -1014, -1020, -1022, -1108, -1111, -1112, -1121, -1128, -1130, -1158, -1165, -1166, -1168, -2010}, code)
}

// classify is what an answer that is no success means.
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
