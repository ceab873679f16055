package cmd_test

import (
	"strings"
	"testing"
)

// TestEndpointOfAMissingConnector: the service starts, says so, and names the exchange as unavailable; one
// that it has by itself stays what it is.
func TestEndpointOfAMissingConnector(t *testing.T) {
	s := serve(t, t.TempDir(), "--connectors", t.TempDir(), "--connector-endpoint", "binance=http://127.0.0.1:5", "--connector-endpoint", "sample=http://127.0.0.1:5")
	var list []map[string]any
	s.call("GET", "/exchanges", nil, &list)
	seen := map[string]any{}
	for _, e := range list {
		seen[e["id"].(string)] = e["status"]
	}
	if seen["binance"] != "unavailable" || seen["sample"] != "available" || seen["sim"] != "available" ||
		len(list) != 3 {
		t.Errorf("%v", seen)
	}
	if !strings.Contains(s.stderr.String(), "an endpoint is given for a connector that is not there") {
		t.Errorf("%s", s.stderr.String())
	}
	var answer map[string]any
	resp := s.call("POST", "/run/live", map[string]any{
		"strategy_name": "sma_cross", "symbols": []string{"BTC/USDT"}, "timeframe": "1h", "mode": "paper",
		"exchange": "binance",
	}, &answer)
	if resp.StatusCode != 400 || answer["error"].(map[string]any)["code"] != "EXCHANGE_UNAVAILABLE" {
		t.Errorf("%d %v", resp.StatusCode, answer)
	}
}
