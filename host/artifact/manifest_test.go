package artifact

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestComplete(t *testing.T) {
	m, err := fixtureManifest([]market.Time{fixtureT0, fixtureT0 + hour}).Complete()
	if err != nil {
		t.Fatal(err)
	}
	r := m.Request
	if r.Schema != "evaluation-request/v1" || r.Kind != "service" || r.FamilyID != "sma-cross" ||
		r.StrategyName != "sma_cross" || r.Seed != "1" {
		t.Errorf("%+v", r)
	}
	if r.Inputs.PluginSHA256 != m.Plugin.SHA256 || r.Inputs.Engine.Metrics != "metrics-v1" ||
		r.Inputs.Data[0].End != int64(fixtureT0+300*hour) {
		t.Errorf("%+v", r.Inputs)
	}
	if m.Data[0].ID != "sample-btc-usdt-1h-abababababab" || r.Splits.Scheme != "none" ||
		len(r.Splits.SHA256) != 64 {
		t.Errorf("%+v %+v", m.Data, r.Splits)
	}
	again, err := m.Complete()
	if err != nil {
		t.Fatal(err)
	}
	one, err1 := m.Request.Hash()
	two, err2 := again.Request.Hash()
	if one != two || errors.Join(err1, err2) != nil {
		t.Errorf("completing twice changes the hash: %v, %v", err1, err2)
	}
}

func TestCompleteRefuses(t *testing.T) {
	cases := map[string]struct {
		spoil   func(*Request)
		pointer string
	}{
		"duplicate key": {func(r *Request) {
			r.StrategyParams = json.RawMessage(`{"a":1,"a":2}`)
		}, "/strategy_params/a"},
		"big integer": {func(r *Request) {
			r.StrategyParams = json.RawMessage(`{"a":9007199254740993}`)
		}, "/strategy_params/a"},
		"wrong type":     {func(r *Request) { r.Execution = json.RawMessage(`[]`) }, "/execution"},
		"no cash":        {func(r *Request) { r.InitialCash = nil }, "/initial_cash"},
		"cash as string": {func(r *Request) { r.InitialCash = json.RawMessage(`"1"`) }, "/initial_cash"},
	}
	for name, c := range cases {
		m := fixtureManifest(nil)
		c.spoil(&m.Request)
		_, err := m.Complete()
		var bad *digest.JSONError
		if !errors.As(err, &bad) || bad.Pointer != c.pointer {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRequestHash: what matters changes the hash, how it is spelt does not.
func TestRequestHash(t *testing.T) {
	hash := func(change func(*Manifest)) string {
		m := fixtureManifest([]market.Time{fixtureT0})
		change(&m)
		m, err := m.Complete()
		if err != nil {
			t.Fatal(err)
		}
		h, err := m.Request.Hash()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	base := hash(func(*Manifest) {})
	same := map[string]func(*Manifest){
		"spelling of numbers": func(m *Manifest) { m.Request.InitialCash = json.RawMessage("10000.0") },
		"order of keys": func(m *Manifest) {
			m.Request.StrategyParams = json.RawMessage(`{"fast":10,"slow":30}`)
		},
		"sandbox":           func(m *Manifest) { m.Sandbox = "off" },
		"explicit defaults": func(m *Manifest) { m.Request.Seed, m.Request.FamilyID = "1", "sma-cross" },
	}
	for name, change := range same {
		if hash(change) != base {
			t.Errorf("%s changes the hash", name)
		}
	}
	other := map[string]func(*Manifest){
		"a parameter": func(m *Manifest) {
			m.Request.StrategyParams = json.RawMessage(`{"fast":11,"slow":30}`)
		},
		"data":     func(m *Manifest) { m.Data[0].SHA256 = strings.Repeat("00", 32) },
		"window":   func(m *Manifest) { m.Data[0].End++ },
		"plugin":   func(m *Manifest) { m.Plugin.SHA256 = strings.Repeat("00", 32) },
		"engine":   func(m *Manifest) { m.Engine.SHA256 = strings.Repeat("00", 32) },
		"seed":     func(m *Manifest) { m.Request.Seed = "2" },
		"mode":     func(m *Manifest) { m.Request.Mode = "paper" },
		"timeline": func(m *Manifest) { m.Splits = FullSplit(slices.Values([]market.Time{fixtureT0 + 1})) },
	}
	seen := map[string]string{base: "nothing"}
	for name, change := range other {
		h := hash(change)
		if before, taken := seen[h]; taken {
			t.Errorf("%s and %s have one hash", name, before)
		}
		seen[h] = name
	}
}

func TestTrialKey(t *testing.T) {
	key := func(change func(*Manifest)) string {
		m := fixtureManifest(nil)
		change(&m)
		m, err := m.Complete()
		if err != nil {
			t.Fatal(err)
		}
		k, err := m.Request.TrialKey()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	base := key(func(*Manifest) {})
	if key(func(m *Manifest) { m.Request.Seed, m.Engine.SHA256 = "7", "other" }) != base {
		t.Error("seed or engine change the trial key")
	}
	if key(func(m *Manifest) { m.Request.Timeframe = "4h" }) == base {
		t.Error("the timeframe does not change the trial key")
	}
}

func TestFullSplit(t *testing.T) {
	s := FullSplit(slices.Values([]market.Time{1, 2, 256}))
	const want = "000000000000000100000000000000020000000000000100"
	if s.Candles != 3 || s.Splits[0].From != 0 || s.Splits[0].To != 3 || s.Splits[0].TSFrom != 1 ||
		s.Splits[0].TSTo != 256 {
		t.Errorf("%+v", s)
	}
	raw, err := hex.DecodeString(want)
	if err != nil {
		t.Fatal(err)
	}
	if s.TimelineSHA256 != digest.SHA256Hex(raw) {
		t.Error(s.TimelineSHA256)
	}
	if none := FullSplit(slices.Values([]market.Time(nil))); none.Candles != 0 || none.Splits[0].TSTo != 0 {
		t.Errorf("%+v", none)
	}
}

func TestDatasetID(t *testing.T) {
	if id := DatasetID("sample", "BTC/USDT", "1h",
		"ad153fb1070403bf43c4"); id != "sample-btc-usdt-1h-ad153fb10704" {
		t.Error(id)
	}
	if id := DatasetID("x", "A/B", "1d", "ab"); id != "x-a-b-1d-ab" {
		t.Error(id)
	}
}
