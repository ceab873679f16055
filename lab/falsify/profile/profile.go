// Package profile is what a falsification is made with: how many replays, which tests,
// and the thresholds of the verdicts, falsify-profile/1.
//
// The default is embedded. A file of a user's own changes what it names and is read
// strictly; the options of the command come on top. Equal profiles have equal canonical
// text, whose hash is part of the request, so that another threshold is another request.
// It imports host/base/digest and lab/falsify/judge.
package profile

import (
	_ "embed" // the default profile
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/falsify/judge"
)

// Schema names the format, and former the one before, whose fields mean the same: what it
// does not have yet is as in the default.
const (
	Schema = "falsify-profile/2"
	former = "falsify-profile/1"
)

// Profile is how a falsification is made. Counts are replays where nothing else is named.
type Profile struct {
	Schema string `json:"schema"`
	// ID is what reports call it.
	ID string `json:"id"`
	// Replicas are those of random_entry and permuted_candles, Noise those of price_noise at
	// the size that decides (half as many at that which warns, a quarter at the others), Gaps
	// those of missing_candles.
	Replicas int `json:"replicas"`
	Noise    int `json:"noise"`
	Gaps     int `json:"gaps"`
	// Orders are those of the trades that trade_shuffle draws, Bootstrap the resamples of
	// buy_and_hold, Selections the permutations of permuted_selection.
	Orders     int `json:"orders"`
	Bootstrap  int `json:"bootstrap"`
	Selections int `json:"selections"`
	// Full adds permuted_selection. FullReplicas takes the place of Replicas then.
	Full         bool `json:"full"`
	FullReplicas int  `json:"full_replicas"`
	// Only and Skip are ids of tests: those that alone are made, and those that are not.
	Only   []string     `json:"only"`
	Skip   []string     `json:"skip"`
	Policy judge.Policy `json:"policy"`
	// Plan is the hash of the plan that permuted_selection repeats, which makes it part of
	// the request. It is that of the run under attack, never that of a file.
	Plan string `json:"plan,omitempty"`
}

//go:embed default.json
var defaultText []byte

// Default is falsify-profile/2.
func Default() Profile {
	p := Profile{Only: []string{}, Skip: []string{}}
	if err := json.Unmarshal(defaultText, &p); err != nil {
		panic(err) // a test reads the embedded file
	}
	return p
}

// FieldError is a bad value of a profile, by JSON pointer.
type FieldError struct{ Pointer, Message string }

// Error names the field and what is wrong with it.
func (e *FieldError) Error() string { return strings.TrimSpace(e.Pointer + " " + e.Message) }

// MaxBytes is the size of the largest profile that is read.
const MaxBytes = 1 << 20

// Decode reads a profile strictly; what it does not name is as in the default. tests are the
// ids of the catalogue. The error is a *FieldError.
func Decode(text []byte, tests []string) (Profile, error) {
	p := Default()
	canonical, err := digest.CanonicalJSON(text)
	if err != nil {
		return p, &FieldError{"", "the profile is not canonical JSON: " + err.Error()}
	}
	if len(canonical) == 0 || canonical[0] != '{' {
		return p, &FieldError{"", "the profile is not a JSON object"}
	}
	if err := known("", canonical, reflect.TypeFor[Profile]()); err != nil {
		return p, err
	}
	if err := json.Unmarshal(canonical, &p); err != nil {
		if bad, ok := err.(*json.UnmarshalTypeError); ok {
			return p, &FieldError{"/" + strings.ReplaceAll(bad.Field, ".", "/"), "must not be a " + bad.Value}
		}
		return p, &FieldError{"", err.Error()}
	}
	if p.Schema == former && p.ID != former {
		p.Schema = Schema
	}
	return p, p.check(tests)
}

// Succeeds reports whether a profile takes the place of the one that a plan names: it is that
// one, or a former default, which is no longer accepted.
func (p *Profile) Succeeds(planned string) bool {
	return p.ID == planned || p.ID == Schema && planned == former
}

// known refuses members that the type has no field for, and null.
func known(pointer string, text []byte, t reflect.Type) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return &FieldError{pointer, "must be an object"}
	}
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = t.Field(i).Type
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		at := pointer + "/" + digest.PointerStep(name)
		field, ok := fields[name]
		switch {
		case !ok:
			return &FieldError{at, "is not a field of " + Schema}
		case string(members[name]) == "null":
			return &FieldError{at, "must not be null"}
		case field.Kind() == reflect.Struct:
			if err := known(at, members[name], field); err != nil {
				return err
			}
		}
	}
	return nil
}

// The fewest replays that p = 0.05 can come of, and the most that are made.
const (
	leastReplicas = 19
	mostReplicas  = 99_999
)

func (p *Profile) check(tests []string) error {
	if p.Schema == former {
		return &FieldError{"/id", fmt.Sprintf("%s is a former default, which cannot be asked for any more: "+
			"leave --profile out for "+
			"%s, or give the file an id of its own", former, Schema)}
	}
	if p.Schema != Schema {
		return &FieldError{"/schema", fmt.Sprintf("must be %q", Schema)}
	}
	if p.ID == former {
		return &FieldError{"/id", "is that of a former default: give this profile an id of its own"}
	}
	if p.ID == "" || len(p.ID) > 128 {
		return &FieldError{"/id", "must have 1 to 128 characters"}
	}
	for _, c := range []struct {
		pointer      string
		value, least int
	}{
		{"/replicas", p.Replicas, leastReplicas}, {"/full_replicas", p.FullReplicas, leastReplicas},
		{"/bootstrap", p.Bootstrap, leastReplicas},
		{"/selections", p.Selections, leastReplicas}, {"/noise", p.Noise, 1}, {"/gaps", p.Gaps, 1},
		{"/orders", p.Orders, 1},
	} {
		if c.value < c.least || c.value > mostReplicas {
			return &FieldError{c.pointer, fmt.Sprintf("must be from %d to %d", c.least, mostReplicas)}
		}
	}
	for _, list := range []struct {
		pointer string
		ids     []string
	}{{"/only", p.Only}, {"/skip", p.Skip}} {
		for i, id := range list.ids {
			if !slices.Contains(tests, id) {
				return &FieldError{fmt.Sprintf("%s/%d", list.pointer, i),
					fmt.Sprintf("there is no test %q", id)}
			}
		}
	}
	for i, id := range p.Skip {
		if slices.Contains(p.Only, id) {
			return &FieldError{fmt.Sprintf("/skip/%d", i),
				fmt.Sprintf("%s is in only, too: take it out of one of them", id)}
		}
	}
	if err := checkPolicy(&p.Policy); err != nil {
		return err
	}
	return p.checkName()
}

// checkName keeps the id of the default for the default: who reads it has to know what was
// asked. What is made of it by With keeps it, as the choice of tests shows in each of them.
func (p *Profile) checkName() error {
	d := Default()
	if p.ID != d.ID {
		return nil
	}
	own := *p
	own.Full, own.Only, own.Skip, own.Plan = d.Full, d.Only, d.Skip, d.Plan
	_, a, err := own.Canonical()
	if err != nil {
		return err
	}
	_, b, err := d.Canonical()
	if err != nil {
		return err
	}
	if a != b {
		return &FieldError{"/id",
			fmt.Sprintf(
				"is that of the default profile, whose counts and thresholds are others: give this one an "+
					"id of its own, such as %q", "strict")}
	}
	return nil
}

// checkPolicy refuses thresholds that cannot be reached or stand in the wrong order.
func checkPolicy(p *judge.Policy) error {
	if name, low, high := p.OutOfRange(); name != "" {
		return &FieldError{"/policy/" + name, fmt.Sprintf("must be from %g to %g", low, high)}
	}
	for _, c := range []struct {
		name  string
		value float64
	}{{"cost_pass", p.CostPass}, {"cost_warn", p.CostWarn}} {
		if c.value != 1.5 && c.value != 2 && c.value != 3 {
			return &FieldError{"/policy/" + c.name, "must be 1.5, 2 or 3: what is played"}
		}
	}
	if p.CostWarn > p.CostPass {
		return &FieldError{"/policy/cost_warn", "must not be above cost_pass"}
	}
	return nil
}

// Options change a profile from the command line.
type Options struct {
	Full       bool
	Only, Skip []string
}

// With is the profile with options. Ids come out in the order of the catalogue, whose ids
// tests are, each once. The error is a *FieldError about an id that no test has.
func (p Profile) With(o Options, tests []string) (Profile, error) {
	p.Only, p.Skip = slices.Concat(p.Only, o.Only), slices.Concat(p.Skip, o.Skip)
	if err := p.check(tests); err != nil {
		return p, err
	}
	p.Full = p.Full || o.Full
	p.Only, p.Skip = ordered(p.Only, tests), ordered(p.Skip, tests)
	return p, nil
}

func ordered(ids, tests []string) []string {
	out := []string{}
	for _, id := range tests {
		if slices.Contains(ids, id) {
			out = append(out, id)
		}
	}
	return out
}

// Selects reports whether a test is made as far as the user is concerned.
func (p *Profile) Selects(id string) bool {
	return (len(p.Only) == 0 || slices.Contains(p.Only, id)) && !slices.Contains(p.Skip, id)
}

// Looser lists the thresholds that let more through than those of the default. Nothing
// passes by such a profile.
func (p *Profile) Looser() []judge.Loosened { return p.Policy.LooserThan(Default().Policy) }

// Permutations is how many replays random_entry and permuted_candles make.
func (p *Profile) Permutations() int {
	if p.Full {
		return p.FullReplicas
	}
	return p.Replicas
}

// Canonical is the profile as canonical JSON, with its SHA-256 in lower-case hex.
func (p *Profile) Canonical() (text []byte, sha256 string, err error) {
	if text, err = digest.JCS(p); err != nil {
		return nil, "", err
	}
	return text, digest.SHA256Hex(text), nil
}
