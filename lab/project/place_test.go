package project

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestFaultsSayWhereTheyStand: whoever reads a refusal of lab.json finds the place without counting bytes.
func TestFaultsSayWhereTheyStand(t *testing.T) {
	const good = `{
  "schema": "lab/v1",
  "slug": "alpha",
  "exchange": "sample",
  "symbols": ["BTC/USDT"],
  "timeframe": "1h"%s
}
`
	for _, c := range []struct{ name, text, want string }{
		{"trailing comma", fmt.Sprintf(good, ","),
			`lab.json:7:1: is not JSON: there is a comma before this }`},
		{"cut off", `{"slug": `, `is not JSON: the text ends too early`},
		{"no comma", `{
  "slug": "a" "b": 1}`, `lab.json:2:15: is not JSON: invalid character`},
		{"twice", fmt.Sprintf(good, ",\n  \"slug\": \"b\""), `lab.json:7:3: /slug is there twice`},
		{"unknown", fmt.Sprintf(good, ",\n  \"speed\": 1"), `lab.json:7:3: /speed is not a known field`},
		{"symbol", strings.Replace(fmt.Sprintf(good, ""), "BTC/USDT", "BTCUSDT", 1),
			`lab.json:5:15: /symbols/0 is not a symbol: write BASE/QUOTE, such as BTC/USDT`},
		{"timeframe", strings.Replace(fmt.Sprintf(good, ""), `"1h"`, `"1hour"`, 1),
			`lab.json:6:3: /timeframe is not a timeframe: write a count and a unit (s, m, h, d, w or M), such as 1h`},
		{"nested", fmt.Sprintf(good, ",\n  \"data\": {\n    \"start\": 7\n  }"),
			`lab.json:8:5: /data/start `},
	} {
		_, err := Parse("lab.json", []byte(c.text))
		var bad *ConfigError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}
