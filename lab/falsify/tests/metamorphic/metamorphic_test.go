package metamorphic

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestStepsOfQuantitiesCanBeDivided(t *testing.T) {
	for in, want := range map[string][2]string{
		"0.00000001": {"0.0000001", "0.0000000001"}, "0.0000000001": {"0.0000001", "0.0000000001"},
		"0.5": {"0.5", "0.0005"}, "1": {"1", "0.001"},
	} {
		coarse, fine, err := stepped(json.RawMessage(`{"fee_taker":0.001,"quantity_step":` + in + `}`))
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range []json.RawMessage{coarse, fine} {
			if !strings.Contains(string(text), `"quantity_step":`+want[i]+`}`) ||
				!strings.Contains(string(text), `"fee_taker":0.001`) {
				t.Errorf("%s: %s, want %s", in, text, want[i])
			}
		}
	}
	if _, _, err := stepped(json.RawMessage(`{"quantity_step":"x"}`)); err == nil {
		t.Error("no error")
	}
}
