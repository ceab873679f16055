package python

import (
	"strings"
	"testing"
)

const matchText = `{"params":{},"timeframe":"1h","cash":100,"execution":{},"history":0,"seed":1,"symbols":[{
	"symbol":"A/B","time":[0,3600000],"open":[1,1],"high":[2,2],"low":[1,1],"close":[2,2],"volume":[0,0]}],
	"inputs":[{"name":"rate","max_age":0,"time":[1],"known":[2],"value":[3]}]}`

// TestMatchRequest: what cannot be played is refused with its field.
func TestMatchRequest(t *testing.T) {
	if m, err := decodeMatch([]byte(matchText)); err != nil || m.series[0].Len() != 2 || len(m.rows[0]) != 1 {
		t.Fatalf("%+v %v", m, err)
	}
	for old, c := range map[string][2]string{
		`"1h"`:              {`"1x"`, "timeframe: "},
		`"cash":100`:        {`"cash":0`, "cash: "},
		`"execution":{}`:    {`"execution":{"slip":1}`, "execution: "},
		`"history":0`:       {`"history":-1`, "history: "},
		`"A/B"`:             {`"AB"`, "symbols: "},
		`"high":[2,2]`:      {`"high":[2]`, "candles of A/B: "},
		`"low":[1,1]`:       {`"low":[3,1]`, "candles of A/B: "},
		`"known":[2]`:       {`"known":[]`, "input rate: "},
		`"seed":1`:          {`"seeds":1`, "request.json: "},
		`"time":[0,3600000`: {`"time":[0,0`, "candles of A/B: "},
	} {
		text := strings.Replace(matchText, old, c[0], 1)
		if _, err := decodeMatch([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), c[1]) {
			t.Errorf("%s: %v", c[0], err)
		}
	}
}

// FuzzMatch: a request is refused or can be played.
func FuzzMatch(f *testing.F) {
	f.Add([]byte(matchText))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := decodeMatch(text)
		if err == nil && (len(m.series) == 0 || len(m.rows) != len(m.ages)) {
			t.Errorf("%+v", m)
		}
	})
}
