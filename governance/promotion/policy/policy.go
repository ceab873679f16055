// Package policy reads promotion policies and judges their gates.
//
// A policy is data, read strictly: an unknown key or kind, a stage for real money with fewer
// than two approvals, or an unknown op refuses the whole file. Its digest is that of its
// canonical JSON, as it was written; inherited gates are filled in when it is read.
//
// [Judge] judges one gate by the [Evidence] of one revision, at a time that it is given. The
// verdict is pass, fail or pending (not known yet); what passed may expire, and people may
// waive a gate for some days. Everything here is a pure function.
package policy

import (
	_ "embed"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
)

// Schema is the schema of a policy.
const Schema = "promotion-policy/v1"

//go:embed default.json
var defaultText []byte

//go:embed solo.json
var soloText []byte

// firstText is the policy that was built in first; logs were judged by it.
//
//go:embed v1.json
var firstText []byte

// Policy is a policy with everything inherited and all defaults filled in.
type Policy struct {
	ID      string
	Version int64
	// Digest is "sha256:" and the SHA-256 of Text, which is canonical JSON.
	Digest string
	Text   []byte
	// Solo marks the policy of one person: the plane keeps the only key, and whoever owns its
	// folder could have written what it has.
	Solo bool
	// Witnesses are those that must have cosigned a seal, nil where it asks for none.
	Witnesses *Witnesses
	stages    map[bundle.Stage]*Stage
}

// Stage is what it takes to enter a stage, and to stay there.
type Stage struct {
	// Auto lets the machine alone promote when the plan passes and no approval is
	// asked for.
	Auto bool
	// Approvals are asked of different people each.
	Approvals []Requirement
	// CapitalScale is the share of declared money that the stage may use: a decimal
	// above 0 and at most 1.
	CapitalScale string
	Gates        []Gate
}

// Requirement is how many people with a role must approve; the role any is risk or
// approver.
type Requirement struct {
	Role  string `json:"role" is:"oneof risk approver any"`
	Count int    `json:"count" min:"1" max:"100"`
}

// RoleAny is met by risk and by approver.
const RoleAny = "any"

// Stage is what the policy asks for a stage; for research that is nothing.
func (p *Policy) Stage(s bundle.Stage) *Stage {
	if rules, ok := p.stages[s]; ok {
		return rules
	}
	return &Stage{CapitalScale: "1"}
}

// Name is how decisions name the policy as their author.
func (p *Policy) Name() string { return fmt.Sprintf("policy:%s-v%d", p.ID, p.Version) }

// SoakSeconds is how long a revision must soak in a stage before the next one, 0 if no
// gate asks for it.
func (p *Policy) SoakSeconds(s bundle.Stage) float64 {
	longest := 0.0
	for _, stage := range p.stages {
		for _, g := range stage.Gates {
			if g.Kind == Soak && string(g.Role) == string(s) {
				longest = max(longest, g.Seconds)
			}
		}
	}
	return longest
}

// Default is the policy that is built in.
func Default() *Policy { return builtIn(defaultText) }

// Solo is the policy of one person without keys of their own, up to paper.
func Solo() *Policy { return builtIn(soloText) }

// SoloNote is what one person alone cannot show; it stands beside everything that is judged by
// such a policy.
const SoloNote = "anyone who owns this folder could have written this"

// First is the policy that was built in up to version 1.0, for logs that name none.
func First() *Policy { return builtIn(firstText) }

// Named is a policy that is built in, by its id; nil for another name.
func Named(id string) *Policy {
	for _, p := range []*Policy{Default(), Solo()} {
		if p.ID == id {
			return p
		}
	}
	return nil
}

func builtIn(text []byte) *Policy {
	p, err := Parse(text)
	if err != nil {
		panic(err) // the text is part of the program, and tested
	}
	return p
}

// moneyStages are the stages that two people must agree to.
var moneyStages = []bundle.Stage{bundle.Canary, bundle.Live}

var stageOrder = []bundle.Stage{bundle.Paper, bundle.Canary, bundle.Live}

const (
	maxGates    = 200
	maxVersion  = 1<<53 - 1
	maxPeople   = 100
	leastPeople = 2
)

// Parse reads a policy strictly. The error is a *bundle.Error with the pointer of what
// is at fault: a plane does not start with such a policy.
func Parse(text []byte) (*Policy, error) {
	v, refused := field.Parse(text)
	if refused != nil {
		return nil, refused
	}
	r := &field.Reader{}
	r.Free(v, "").Schema("schema", Schema)
	o := r.Object(v, "", field.Names("schema id version stages"), field.Names("solo witnesses"))
	p := &Policy{
		ID: o.Form("id", "id"), Version: o.Integer("version", 1, maxVersion),
		stages: map[bundle.Stage]*Stage{},
	}
	if solo := o.Bool("solo"); solo != nil {
		p.Solo = *solo
	}
	p.Witnesses = readWitnesses(r, o)
	stages := o.Child("stages", field.Names("paper canary live"), nil)
	for _, name := range stageOrder {
		if r.Failed() {
			break
		}
		p.stages[name] = readStage(r, stages, name, p.stages)
	}
	if r.Failed() {
		return nil, r.Err()
	}
	for _, name := range moneyStages {
		if p.stages[name].people() < leastPeople {
			return nil, field.Refuse(field.InvalidField, "/stages/"+string(name)+"/approvals",
				"%s takes the approval of two people at least", name)
		}
	}
	p.Text = digest.Tree(v)
	p.Digest = bundle.DigestPrefix + digest.SHA256Hex(p.Text)
	return p, nil
}

func (s *Stage) people() int {
	n := 0
	for _, a := range s.Approvals {
		n += a.Count
	}
	return n
}

// readStage reads one stage; before are those below it, which it may inherit from.
func readStage(r *field.Reader, stages field.Object, name bundle.Stage,
	before map[bundle.Stage]*Stage) *Stage {
	o := stages.Child(string(name), nil, field.Names("inherit auto approvals capital_scale gates"))
	s := &Stage{CapitalScale: "1"}
	if o.Has("inherit") {
		from, ok := before[bundle.Stage(o.Text("inherit"))]
		if !ok {
			o.Fail(field.InvalidStage, "inherit", "must be a lower stage")
			return s
		}
		s.Gates, s.Approvals = slices.Clone(from.Gates), slices.Clone(from.Approvals)
	}
	if auto := o.Bool("auto"); auto != nil {
		s.Auto = *auto
	}
	if o.Has("capital_scale") {
		s.CapitalScale = o.Form("decimal", "capital_scale")
		if !share(s.CapitalScale) {
			o.Fail(field.InvalidField, "capital_scale", "must be above 0 and at most 1")
		}
	}
	readApprovals(r, o, s)
	seen := map[string]bool{}
	o.Each("gates", maxGates, func(_ int, v any, at string) {
		g := readGate(r, v, at)
		if seen[g.ID] {
			r.Fail(field.DuplicateItem, at+"/id", "this gate stands twice in the stage")
		}
		seen[g.ID] = true
		if i := slices.IndexFunc(s.Gates, func(old Gate) bool { return old.ID == g.ID }); i >= 0 {
			s.Gates[i] = g
			return
		}
		s.Gates = append(s.Gates, g)
	})
	return s
}

// readApprovals reads the approvals of a stage; one for a role that is inherited
// replaces that.
func readApprovals(r *field.Reader, o field.Object, s *Stage) {
	seen := map[string]bool{}
	o.Each("approvals", maxPeople, func(_ int, v any, at string) {
		var a Requirement
		one := r.Struct(v, at, &a)
		if seen[a.Role] {
			one.Fail(field.DuplicateItem, "role", "this role stands twice in the stage")
		}
		seen[a.Role] = true
		if i := slices.IndexFunc(s.Approvals, func(old Requirement) bool {
			return old.Role == a.Role
		}); i >= 0 {
			s.Approvals[i] = a
			return
		}
		s.Approvals = append(s.Approvals, a)
	})
}

var wholeOne = regexp.MustCompile(`^1(\.0+)?$`)

// share reports whether a decimal is above 0 and at most 1.
func share(s string) bool {
	if strings.HasPrefix(s, "0.") {
		return strings.Trim(s, "0.") != ""
	}
	return wholeOne.MatchString(s)
}

// decimals is how many digits an amount has behind the point.
const decimals = 18

// Scale is what a stage allows of declared limits: capital, position and daily loss times
// the stage's share, a decimal of at most 1, exactly and cut off behind 18 decimals; an
// order no larger than a position.
func Scale(l bundle.Limits, share string) bundle.Limits {
	l.MaxCapital = times(l.MaxCapital, share)
	l.MaxPositionValue = times(l.MaxPositionValue, share)
	if l.MaxDailyLoss != "" {
		l.MaxDailyLoss = times(l.MaxDailyLoss, share)
	}
	if units(l.MaxOrderValue).Cmp(units(l.MaxPositionValue)) > 0 {
		l.MaxOrderValue = l.MaxPositionValue
	}
	return l
}

// units is an amount in units of its last possible digit.
func units(s string) *big.Int {
	whole, part, _ := strings.Cut(s, ".")
	part += strings.Repeat("0", max(0, decimals-len(part)))
	n, ok := new(big.Int).SetString(whole+part[:decimals], 10)
	if !ok {
		return new(big.Int)
	}
	return n
}

func times(amount, share string) string {
	one := new(big.Int).Exp(big.NewInt(10), big.NewInt(decimals), nil)
	n := new(big.Int).Mul(units(amount), units(share))
	n.Quo(n, one)
	whole, part := new(big.Int).QuoRem(n, one, new(big.Int))
	digits := part.String()
	digits = strings.TrimRight(strings.Repeat("0", decimals-len(digits))+digits, "0")
	if digits == "" {
		return whole.String()
	}
	return whole.String() + "." + digits
}
