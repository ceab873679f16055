package family_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/family"
)

const trialRequest = `{"schema":"evaluation-request/v1","kind":"trial","family_id":"sma-cross","strategy_name":"sma_cross","strategy_params":{"fast":10,"slow":50,"stake":0},
 "symbols":["BTC/USDT"],"timeframe":"1h","exchange":"sample","start_date":"2017-08-17T04:00:00.000Z","end_date":"2024-04-21T15:00:00.000Z",
 "initial_cash":10000,"seed":"1","execution":{"profile":"bar-v1"},"splits":{"scheme":"default","purge":1,"sha256":"aa"},"stress":["cost_x2","delay_1"],
 "inputs":{"data":[{"symbol":"BTC/USDT","timeframe":"1h","sha256":"bb","start":1502942400000,"end":1713711600000}],"plugin_sha256":"cc",
  "engine":{"sha256":"dd","metrics":"metrics-v1","statistics":"lab-stats/1"},"protocol_version":1},"falsification":null}`

const familyBlock = `{"space":{"fast":{"type":"int","low":5,"high":30},"exit":{"type":"choice","values":["a","b"]}},"constraints":[{"left":"fast","op":"<","right":"slow"}],"max_trials":8}`

// subject is a strategy whose lab.json has this family, "" for none.
func subject(t testing.TB, block string) family.PlanSubject {
	t.Helper()
	text := `{"schema":"lab/v1","slug":"sma_cross","exchange":"sample","symbols":["BTC/USDT"],"timeframe":"1h","seed":"7","hypothesis":"Trends last."}`
	if block != "" {
		text = strings.TrimSuffix(text, "}") + `,"family":` + block + "}"
	}
	config, err := project.Parse("lab.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return family.PlanSubject{Config: config, Request: json.RawMessage(trialRequest), PriorTrials: 12,
		Windows: 5}
}

func make8(t testing.TB) *family.MadePlan {
	t.Helper()
	made, err := family.MakePlan(subject(t, familyBlock), family.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// refused checks the code and the place of a refusal: a pointer, or a flag.
func refused(t testing.TB, err error, code, place string) {
	t.Helper()
	var e *request.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%v, want %s", err, code)
		return
	}
	key := "pointer"
	if strings.HasPrefix(place, "--") {
		key = "flag"
	}
	if place != "" && e.Details[key] != place {
		t.Errorf("%v: %v, want %s %s", err, e.Details, key, place)
	}
}
