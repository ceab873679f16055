package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
)

// The kinds of gates.
const (
	Integrity       = "integrity"
	Requested       = "requested"
	LineageClean    = "lineage"
	LimitsDeclared  = "limits_declared"
	EvidencePresent = "evidence_present"
	Metric          = "metric"
	Freshness       = "freshness"
	Soak            = "soak"
	Replay          = "replay"
	Assurance       = "assurance"
	NoOpenIncident  = "no_open_incident"
	Falsified       = "falsification"
	Engine          = "engine"
	Correlation     = "correlation"
	Shadow          = "shadow"
	Challenge       = "challenge"
)

// kinds lists the fields of each kind: those it needs, and those it may have.
var kinds = map[string][2]string{
	Integrity:       {"", "verified"},
	Requested:       {"", ""},
	LineageClean:    {"", ""},
	LimitsDeclared:  {"", ""},
	EvidencePresent: {"", "roles split_kinds pointer min"},
	Metric:          {"roles metric op", "split_kinds value value_from"},
	Freshness:       {"max_age", "roles drill"},
	Soak:            {"role seconds", ""},
	Replay:          {"roles", "own"},
	Assurance:       {"rungs", ""},
	NoOpenIncident:  {"", ""},
	Falsified:       {"at_most", "accept accept_from_e"},
	Engine:          {"", "sha256"},
	Correlation:     {"max stages", ""},
	Shadow:          {"days trades evidence", "per_claim e_bh attested"},
	Challenge:       {"", ""},
}

// Gate is one condition. Which fields count depends on the kind.
type Gate struct {
	ID   string `json:"id" is:"id"`
	Kind string `json:"kind"`
	// Refs are rules that the gate supports evidence for; it does not claim to comply
	// with them.
	Refs []string `json:"refs" max:"200"`
	// Reason is why the gate and its bound are there, for who is to agree; "" for none.
	Reason string `json:"reason" is:"filled"`
	// WaivableBy are the roles that must waive the gate together, each by another person;
	// risk alone where there are none.
	WaivableBy []string `json:"waivable_by" is:"oneof risk approver none" max:"2"`
	// Spec is the gate's own fields as they stand in the policy, canonical JSON.
	Spec json.RawMessage `json:"-"`

	Roles      []bundle.Role `json:"-"`
	Role       bundle.Role   `json:"role" is:"oneof paper canary live"`
	SplitKinds []string      `json:"split_kinds" is:"oneof train validation test search walk_forward full" max:"6"`
	Pointer    string        `json:"pointer"` // RFC 6901, into the bundle
	Min        float64       `json:"min"`
	Metric     string        `json:"metric" is:"filled"` // its name in summary or in a split's metrics
	Op         string        `json:"op" is:"oneof == != < <= > >="`
	Value      float64       `json:"-"`
	ValueFrom  string        `json:"value_from"` // a pointer, "" where Value counts
	Drill      string        `json:"drill" is:"oneof kill_switch"`
	MaxAge     time.Duration `json:"-"`
	Seconds    float64       `json:"seconds" min:"1"`
	Rungs      []string      `json:"rungs" is:"oneof hash_claimed hash_verified signed reproduced" max:"4"`
	Verified   bool          `json:"verified"`
	// Own lets a replay by who packed the bundle count.
	Own bool `json:"own"`
	// AtMost is the worst verdict of a falsification that passes. With an e-value of at least
	// AcceptFromE warnings of the tests in Accept pass, too.
	AtMost      string   `json:"at_most" is:"oneof pass warn"`
	Accept      []string `json:"accept" max:"100"`
	AcceptFromE float64  `json:"accept_from_e" min:"1"`
	// Engines are the SHA-256 of the programs that may have made runs; those that the plane
	// lists where there are none.
	Engines []string `json:"sha256" max:"100"`
	// Max is the largest correlation with what is active in Stages.
	Max    float64  `json:"-"`
	Stages []string `json:"stages" is:"oneof paper canary live" max:"3"`

	// Days, Trades and Evidence are the least of a shadow; PerClaim multiplies Evidence with the
	// number of the claim, EBH makes of it what online e-BH takes among the claims of one packer or
	// of the whole plane. Attested (true where it is absent) takes no candles from files.
	Days     int64   `json:"days" min:"1"`
	Trades   int64   `json:"trades"`
	Evidence float64 `json:"evidence" min:"1"`
	PerClaim bool    `json:"per_claim"`
	EBH      string  `json:"e_bh" is:"oneof packer plane"`
	Attested bool    `json:"attested"`
}

// waivedByNone is in place of the roles of a gate that cannot be waived.
const waivedByNone = "none"

// Waivers are the roles that must waive the gate together.
func (g *Gate) Waivers() []string {
	if len(g.WaivableBy) == 0 {
		return []string{bundle.TrustRisk}
	}
	return g.WaivableBy
}

// Waivable reports whether people may let the gate pass for a time.
func (g *Gate) Waivable() bool {
	switch g.Kind {
	case Integrity, Requested, LineageClean, Assurance, NoOpenIncident:
		return false
	}
	return !slices.Contains(g.WaivableBy, waivedByNone)
}

// readable are the parts of a bundle that a pointer may lead into: runs and artifacts are
// judged by role, not by place.
var readable = []string{"candidate", "strategy", "engine", "data", "trials", "limits", "known_limitations",
	"extensions"}

func readGate(r *field.Reader, v any, at string) Gate {
	open := r.Free(v, at)
	kind := open.Text("kind")
	fields, ok := kinds[kind]
	if !ok {
		open.Fail(field.InvalidField, "kind", "is no kind of gate")
		return Gate{}
	}
	o := r.Object(v, at, append(field.Names("id kind"), field.Names(fields[0])...),
		append(field.Names("refs reason waivable_by"), field.Names(fields[1])...))
	var roles struct {
		Roles []string `json:"roles" is:"oneof baseline oos stress falsification replay paper canary live" max:"8"`
	}
	g := Gate{Spec: spec(v), MaxAge: age(o, "max_age"), Value: o.Number("value", math.Inf(-1)),
		Max: o.Number("max", -1)}
	o.Into(&g)
	o.Into(&roles)
	for _, role := range roles.Roles {
		g.Roles = append(g.Roles, bundle.Role(role))
	}
	distinct(o, "roles", roles.Roles)
	distinct(o, "split_kinds", g.SplitKinds)
	distinct(o, "rungs", g.Rungs)
	distinct(o, "waivable_by", g.WaivableBy)
	if len(g.WaivableBy) > 1 && slices.Contains(g.WaivableBy, waivedByNone) {
		o.Fail(field.InvalidField, "waivable_by", "none stands alone")
	}
	distinct(o, "accept", g.Accept)
	distinct(o, "stages", g.Stages)
	distinct(o, "sha256", g.Engines)
	pointer(o, "pointer", g.Pointer)
	pointer(o, "value_from", g.ValueFrom)
	if !o.Has("min") {
		g.Min = 1
	}
	if !o.Has("attested") {
		g.Attested = true
	}
	switch kind {
	case Metric:
		exactlyOne(o, "value", "value_from")
	case Falsified:
		if o.Has("accept") != o.Has("accept_from_e") {
			o.Fail(field.InvalidField, "accept", "accept and accept_from_e need each other")
		}
	case Shadow:
		if g.PerClaim && o.Has("e_bh") {
			o.Fail(field.InvalidField, "e_bh", "per_claim and e_bh are two rules for many claims: take one")
		}
	case Engine:
		for i, sum := range g.Engines {
			if !field.IsSHA256(sum) {
				o.FailAt(field.InvalidDigest, fmt.Sprintf("sha256/%d", i),
					"must be 64 hex digits in lower case")
			}
		}
	case Freshness:
		exactlyOne(o, "roles", "drill")
	case EvidencePresent:
		exactlyOne(o, "roles", "pointer")
		if o.Has("split_kinds") && !o.Has("roles") {
			o.Fail(field.InvalidField, "split_kinds", "needs roles")
		}
	}
	return g
}

func exactlyOne(o field.Object, a, b string) {
	if o.Has(a) == o.Has(b) {
		o.Fail(field.InvalidField, a, "exactly one of %s and %s is needed", a, b)
	}
}

// distinct refuses a list that is there and empty, or has a word twice.
func distinct(o field.Object, name string, list []string) {
	if o.Has(name) && len(list) == 0 {
		o.Fail(field.InvalidField, name, "must not be empty")
	}
	for i, s := range list {
		if slices.Contains(list[:i], s) {
			o.Fail(field.DuplicateItem, name, "has %s twice", s)
		}
	}
}

func pointer(o field.Object, name, s string) {
	first, _, _ := strings.Cut(strings.TrimPrefix(s, "/"), "/")
	if o.Has(name) && (!strings.HasPrefix(s, "/") || !slices.Contains(readable, first)) {
		o.Fail(field.InvalidField, name, "must be a pointer into %s", strings.Join(readable, ", "))
	}
}

var agePattern = regexp.MustCompile(`^([1-9][0-9]{0,5})([smhd])$`)

// age is a duration like 90d or 12h.
func age(o field.Object, name string) time.Duration {
	s := o.Text(name)
	if !o.Has(name) {
		return 0
	}
	parts := agePattern.FindStringSubmatch(s)
	if parts == nil {
		o.Fail(field.InvalidField, name, "must be a number with s, m, h or d, like 90d")
		return 0
	}
	n, _ := strconv.Atoi(parts[1]) // the pattern admits six digits
	unit := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour,
		"d": 24 * time.Hour}[parts[2]]
	if n > int(math.MaxInt64/int64(unit)) {
		o.Fail(field.InvalidField, name, "is too long")
	}
	return time.Duration(n) * unit
}

// beside are the fields that every gate has.
var beside = []string{"id", "kind", "refs", "reason", "waivable_by"}

// spec is the gate without what every gate has.
func spec(v any) json.RawMessage {
	members, _ := v.(map[string]any)
	own := map[string]any{}
	for name, value := range members {
		if !slices.Contains(beside, name) {
			own[name] = value
		}
	}
	return digest.Tree(own)
}
