package profile

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/lab/falsify/judge"
)

// catalogue is some of the ids, in their order.
var catalogue = []string{"determinism", "cost_stress", "regime", "capacity"}

func TestTheDefaultIsThatOfThePage(t *testing.T) {
	p := Default()
	if err := p.check(catalogue); err != nil {
		t.Fatal(err)
	}
	want := Profile{
		Schema: "falsify-profile/2", ID: "falsify-profile/2", Replicas: 199, Noise: 20, Gaps: 10, Orders: 999,
		Bootstrap:  999,
		Selections: 99, FullReplicas: 999, Only: []string{}, Skip: []string{}, Policy: judge.DefaultPolicy(),
	}
	a, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Errorf("%s\nwant %s", a, b)
	}
	again, err := Decode(defaultText, catalogue)
	if err != nil || again.Policy != want.Policy || again.ID != want.ID {
		t.Errorf("%+v, %v", again, err)
	}
}

// What stands in stored requests is the hash of the default: another default has another id.
func TestTheHashOfTheDefault(t *testing.T) {
	p := Default()
	const want = "8966b6593d9121134c89359fed213d973ffd8046ddba5a1ca304f12699eaddc8"
	if _, sum, err := p.Canonical(); err != nil || sum != want {
		t.Errorf("%s is %s, %v", p.ID, sum, err)
	}
}

func TestAFileChangesWhatItNames(t *testing.T) {
	p, err := Decode(
		[]byte(`{"policy":{"cost_pass":3},"id":"strict","schema":"falsify-profile/2","replicas":499}`),
		catalogue)
	if err != nil {
		t.Fatal(err)
	}
	if p.ID != "strict" || p.Replicas != 499 || p.Policy.CostPass != 3 || p.Policy.CostWarn != 1.5 ||
		p.Noise != 20 {
		t.Errorf("%+v", p)
	}
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	for text, pointer := range map[string]string{
		`[]`: "", `{"id":"a","id":"b"}`: "", `{"schema":"x"}`: "/schema", `{"id":""}`: "/id",
		`{"noise":0}`:     "/noise",
		`{"replicas":18}`: "/replicas", `{"replicas":100000}`: "/replicas", `{"replicas":1.5}`: "/replicas",
		`{"selections":1}`: "/selections",
		`{"luck":1}`:       "/luck", `{"a/b":1}`: "/a~1b", `{"policy":{"luck":1}}`: "/policy/luck",
		`{"policy":[]}`: "/policy", `{"policy":null}`: "/policy",
		`{"skip":["luck"]}`: "/skip/0", `{"only":["regime","luck"]}`: "/only/1", `{"only":"regime"}`: "/only",
		`{"policy":{"p_pass":0.2}}`: "/policy/p_warn", `{"policy":{"p_warn":2}}`: "/policy/p_warn",
		`{"policy":{"delay_warn":0.6}}`: "/policy/delay_warn",
		`{"policy":{"cost_pass":4}}`:    "/policy/cost_pass",
		`{"policy":{"cost_warn":3}}`:    "/policy/cost_warn", `{"policy":{"keep":"half"}}`: "/policy/keep",
		`{"only":["regime"],"skip":["capacity","regime"]}`:            "/skip/1",
		`{"id":"falsify-profile/2","replicas":198}`:                   "/id",
		`{"id":"falsify-profile/2","policy":{"p_pass":1,"p_warn":1}}`: "/id",
		`{"policy":{"terciles":4}}`:                                   "/policy/terciles",
		`{"policy":{"warmup_drift_warn":0}}`:                          "/policy/warmup_drift_warn",
	} {
		_, err := Decode([]byte(text), catalogue)
		if strings.HasPrefix(text, `{"`) && !strings.Contains(text, `"schema"`) && pointer != "" {
			text = `{"schema":"falsify-profile/2",` + text[1:]
			if !strings.Contains(text, `"id"`) {
				text = `{"id":"x",` + text[1:]
			}
			_, err = Decode([]byte(text), catalogue)
		}
		var bad *FieldError
		if !errors.As(err, &bad) || bad.Pointer != pointer || bad.Error() == "" {
			t.Errorf("%s: %v, want a fault at %q", text, err, pointer)
		}
	}
}

// The id of the default names its counts and thresholds: others have another one.
func TestTheIDOfTheDefaultIsItsOwn(t *testing.T) {
	for _, text := range []string{`{"schema":"falsify-profile/2","noise":1}`,
		`{"schema":"falsify-profile/2","policy":{"keep":0.6}}`} {
		var bad *FieldError
		if _, err := Decode([]byte(text), catalogue); !errors.As(err, &bad) || bad.Pointer != "/id" {
			t.Errorf("%s: %v", text, err)
		}
	}
	// With the options of the command line it stays the default, also as the stored file
	// of a falsification that names its plan.
	p, err := Decode(
		[]byte(`{"schema":"falsify-profile/2","full":true,"skip":["capacity"],"plan":"abc","noise":2e1}`),
		catalogue)
	if err != nil || !p.Full || p.Plan != "abc" || len(p.Looser()) != 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestLooserThresholdsAreFound(t *testing.T) {
	p, err := Decode(
		[]byte(`{"schema":"falsify-profile/2","id":"easy","replicas":99999,"policy":{"p_warn":1,"keep":0.9,"year_share":0.7}}`), catalogue)
	if err != nil {
		t.Fatal(err)
	}
	if l := p.Looser(); len(l) != 2 || l[0].Name != "year_share" || l[1].Name != "p_warn" {
		t.Error(l)
	}
}

// A file of the format before is read, and is one of this format from then on; the former
// default itself cannot be asked for.
func TestProfilesOfTheFormerFormatAreRead(t *testing.T) {
	p, err := Decode([]byte(`{"schema":"falsify-profile/1","id":"strict","noise":30,"policy":{"keep":0.6}}`),
		catalogue)
	if err != nil || p.Schema != Schema || p.ID != "strict" || p.Noise != 30 || p.Policy.Keep != 0.6 ||
		p.Policy.PlausibleSharpe != 0.15 {
		t.Errorf("%+v, %v", p, err)
	}
	var bad *FieldError
	for _, schema := range []string{"falsify-profile/1", "falsify-profile/2"} {
		_, err := Decode([]byte(`{"schema":"`+schema+`","id":"falsify-profile/1"}`), catalogue)
		if !errors.As(err, &bad) || bad.Pointer != "/id" || !strings.Contains(bad.Message, "former default") {
			t.Errorf("%s: %v", schema, err)
		}
	}
	for planned, want := range map[string]bool{"falsify-profile/1": true, "falsify-profile/2": true,
		"strict": false} {
		if d := Default(); d.Succeeds(planned) != want {
			t.Errorf("the default after %s: %v", planned, !want)
		}
	}
	if p.Succeeds("falsify-profile/1") || !p.Succeeds("strict") {
		t.Error("a profile of one's own takes the place of the default")
	}
}

func TestOptionsComeOnTop(t *testing.T) {
	p, err := Default().With(Options{Full: true, Only: []string{"regime", "determinism", "regime"},
		Skip: []string{"capacity"}}, catalogue)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Full || p.Permutations() != 999 || !slices.Equal(p.Only, []string{"determinism", "regime"}) ||
		!slices.Equal(p.Skip, []string{"capacity"}) {
		t.Errorf("%+v", p)
	}
	if !p.Selects("regime") || p.Selects("capacity") || p.Selects("cost_stress") {
		t.Error("the wrong tests are selected")
	}
	var bad *FieldError
	if _, err := Default().With(Options{Skip: []string{"luck"}}, catalogue); !errors.As(err, &bad) {
		t.Error(err)
	}
	if _, err := Default().With(Options{Only: []string{"regime"}, Skip: []string{"regime"}},
		catalogue); !errors.As(err, &bad) || bad.Pointer != "/skip/0" {
		t.Error(err)
	}
	if plain := Default(); plain.Permutations() != 199 || !plain.Selects("capacity") {
		t.Error("the default selects")
	}
}

func TestEqualProfilesHaveEqualHashes(t *testing.T) {
	one, err := Decode([]byte(`{"schema":"falsify-profile/2","id":"x","noise":5,"policy":{"p_pass":0.01}}`),
		catalogue)
	if err != nil {
		t.Fatal(err)
	}
	two, err := Decode(
		[]byte(`{ "policy": {"p_pass": 1e-2}, "noise": 5.0e0, "id": "x", "schema": "falsify-profile/2" }`),
		catalogue)
	if err != nil {
		t.Fatal(err)
	}
	_, a, err := one.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	_, b, err := two.Canonical()
	if err != nil || a != b {
		t.Errorf("%s, %s, %v", a, b, err)
	}
	two.Skip = []string{"capacity"}
	if _, c, _ := two.Canonical(); c == a {
		t.Error("what is skipped is not hashed")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(defaultText)
	f.Add([]byte(`{"schema":"falsify-profile/1","id":"x","noise":2}`))
	f.Add([]byte(`{"schema":"falsify-profile/2","id":"x","only":["regime"],"policy":{"keep":0.1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Decode(text, catalogue)
		if err != nil {
			return
		}
		canonical, sum, err := p.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(canonical, catalogue)
		if err != nil {
			t.Fatalf("%s: %v", canonical, err)
		}
		if _, other, _ := again.Canonical(); other != sum {
			t.Errorf("%s reads as another", canonical)
		}
	})
}
