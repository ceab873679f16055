package market_test

import (
	"encoding/json"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestFieldsKeepTheirOrder(t *testing.T) {
	f := market.Fields(nil).Set("zeta", "1").Set("alpha", "a\"b\n\x1b[2J").Set("zeta", "2")
	text, err := json.Marshal(struct {
		Fields market.Fields `json:"fields"`
	}{f})
	if want := `{"fields":{"zeta":"2","alpha":"a\"b\n\u001b[2J"}}`; err != nil || string(text) != want {
		t.Errorf("%s, want %s: %v", text, want, err)
	}
	if text, err := json.Marshal(market.Fields(nil)); err != nil || string(text) != "{}" {
		t.Errorf("none: %s %v", text, err)
	}
	if f.Get("alpha") == "" || f.Get("beta") != "" {
		t.Errorf("%v", f)
	}
}
