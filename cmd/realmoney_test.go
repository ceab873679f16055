package cmd_test

import (
	"net/http"
	"testing"

	"github.com/assay-run/assay/host/hosttest/testvenue"
)

// TestRealMoneyIsRefusedInOrder: what can be refused before a process or a network is touched,
// over the whole service with the connector on Binance's own address, which no request reaches.
func TestRealMoneyIsRefusedInOrder(t *testing.T) {
	s := serve(t, t.TempDir(), "--connectors", connectorFolder(t))
	var list []struct {
		ID, Status, Version, Connector string
		Certified                      bool
	}
	s.call("GET", "/exchanges", nil, &list)
	found := false
	for _, e := range list {
		if e.ID == "binance" {
			found = e.Status == "available" && e.Certified && e.Version == "1.0.0" && e.Connector == "native"
		}
	}
	if !found {
		t.Errorf("%+v", list)
	}
	keys := object{"apiKey": testvenue.DefaultKey, "secret": testvenue.DefaultSecret}
	for _, c := range []struct {
		change       object
		code, reason string
	}{
		{object{"exchange": "nowhere"}, "EXCHANGE_NOT_FOUND", ""},
		{object{"timeframe": "7m"}, "UNSUPPORTED_TIMEFRAME", ""},
		{object{"exchange_config": object{"urls": "http://elsewhere"}}, "VALIDATION_FAILED", ""},
		{object{"exchange_config": object{}}, "CREDENTIALS_REQUIRED", ""},
		{object{}, "MODE_NOT_SUPPORTED", "risk_limit_required"},
	} {
		body := crossing()
		body["exchange_config"] = keys
		for name, value := range c.change {
			body[name] = value
		}
		var answer struct {
			Error struct {
				Code    string
				Details struct{ Reason string }
			}
		}
		resp := s.call("POST", "/run/live", body, &answer)
		if resp.StatusCode != http.StatusBadRequest || answer.Error.Code != c.code ||
			answer.Error.Details.Reason != c.reason && c.reason != "" {
			t.Errorf("%v: %d %+v", c.change, resp.StatusCode, answer.Error)
		}
	}
	if status := s.await("idle"); status["status"] != "idle" {
		t.Errorf("%v", status)
	}
}
