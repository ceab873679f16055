package policy_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

func run(id string, role bundle.Role, age time.Duration, summary map[string]float64) policy.Run {
	return policy.Run{
		Run: bundle.Run{RunID: id, Role: role, RequestHash: "q-" + id, ReportSHA256: "r-" + id,
			Summary: summary},
		Seq: 3, Completed: now.Add(-age),
	}
}

func evidence(runs ...policy.Run) *policy.Evidence {
	doc := map[string]any{
		"limits": map[string]any{"max_drawdown": "0.25"}, "trials": map[string]any{"family_trials": 12.0},
		"known_limitations": []any{"a", "b"},
		"extensions":        map[string]any{"a/b": true, "no": false, "nothing": nil, "text": "x", "": 7.0},
	}
	return &policy.Evidence{
		Seq: 3, CoreSHA256: "core", Target: bundle.Canary, Runs: runs, ParentSeq: -1,
		Limits: bundle.Limits{MaxCapital: "1", MaxOrderValue: "1", MaxPositionValue: "0.5",
			MaxOrdersPerMinute: 1, MaxInstruments: 1, MaxVenues: 1, MaxDrawdown: "0.1"},
		Lookup: func(p string) (any, bool) { return policy.Find(doc, p) },
	}
}

func roles(r ...bundle.Role) []bundle.Role { return r }

type wanted struct {
	verdict  policy.Verdict
	observed any
	pieces   int
	blame    string
}

func check(t *testing.T, name string, g policy.Gate, e *policy.Evidence, want wanted) policy.Result {
	t.Helper()
	r := policy.Judge(&g, bundle.Canary, e, now)
	got := wanted{r.Verdict, r.Observed, len(r.Evidence), r.Blame}
	if fmt.Sprint(got) != fmt.Sprint(want) || r.Reason == "" {
		t.Errorf("%s: %+v, want %+v (%s)", name, got, want, r.Reason)
	}
	return r
}

func TestWhatTheBundleSays(t *testing.T) {
	e := evidence()
	check(t, "integrity", policy.Gate{Kind: "integrity"}, e, wanted{policy.Pass, nil, 1, ""})
	verified := policy.Gate{Kind: "integrity", Verified: true}
	check(t, "not read", verified, e, wanted{policy.Pending, "hash_claimed", 1, ""})
	e.Verified = true
	check(t, "read", verified, e, wanted{policy.Pass, nil, 1, ""})

	for target, want := range map[bundle.Stage]policy.Verdict{bundle.Paper: policy.Pending,
		bundle.Canary: policy.Pass, bundle.Live: policy.Pass} {
		e.Target = target
		check(t, "requested", policy.Gate{Kind: "requested"}, e, wanted{want, string(target), 1, ""})
	}

	lineage := policy.Gate{Kind: "lineage"}
	check(t, "no parent", lineage, e, wanted{policy.Pass, nil, 1, ""})
	e.Parent = "cr-parent"
	check(t, "unknown parent", lineage, e, wanted{policy.Pending, "cr-parent", 1, ""})
	e.ParentSeq = 1
	check(t, "known parent", lineage, e, wanted{policy.Pass, "cr-parent", 1, ""})
	e.RejectedTwin = &policy.Piece{Seq: 2, SHA256: "twin"}
	check(t, "rejected", lineage, e, wanted{policy.Fail, nil, 1, ""})

	limits := policy.Gate{Kind: "limits_declared"}
	check(t, "declared", limits, e, wanted{policy.Pass, 7, 1, ""})
	e.Limits.MaxVenues = 0
	check(t, "a zero", limits, e, wanted{policy.Fail, 6, 1, ""})
	e.Limits.MaxPositionValue = "0.000"
	check(t, "two zeros", limits, e, wanted{policy.Fail, 5, 1, ""})
}

func TestEvidencePresent(t *testing.T) {
	base, oos := run("a", bundle.RoleBaseline, day, nil), run("b", bundle.RoleOOS, day, nil)
	base.Splits = []bundle.Split{{SplitID: "1", Kind: "train"}, {SplitID: "2", Kind: "test"}}
	g := policy.Gate{Kind: "evidence_present", Roles: roles("baseline", "oos"),
		SplitKinds: []string{"test", "walk_forward"}, Min: 1}
	check(t, "one", g, evidence(base, oos), wanted{policy.Pass, 1, 1, ""})
	check(t, "without such a split", g, evidence(oos), wanted{policy.Pending, 0, 0, "baseline"})
	g.Min = 2
	check(t, "too few", g, evidence(base, oos), wanted{policy.Pending, 1, 1, "baseline"})
	g.SplitKinds = nil
	check(t, "any split", g, evidence(base, oos), wanted{policy.Pass, 2, 2, ""})
	for pointer, want := range map[string]wanted{
		"/trials/family_trials": {policy.Pass, 12, 1, ""}, "/trials/none": {policy.Pending, 0, 1, ""},
		"/known_limitations": {policy.Pass, 2, 1, ""},
		"/extensions/a~1b":   {policy.Pass, 1, 1, ""}, "/extensions/no": {policy.Pending, 0, 1, ""},
		"/extensions/nothing": {policy.Pending, 0, 1, ""},
		"/extensions/text":    {policy.Pass, 1, 1, ""}, "/extensions": {policy.Pass, 5, 1, ""},
		"/extensions/":         {policy.Pass, 7, 1, ""},
		"/known_limitations/1": {policy.Pass, 1, 1, ""}, "/known_limitations/01": {policy.Pending, 0, 1, ""},
		"/limits/max_drawdown/x": {policy.Pending, 0, 1, ""},
	} {
		check(t, pointer, policy.Gate{Kind: "evidence_present", Pointer: pointer, Min: 1}, evidence(), want)
	}
}

func TestMetric(t *testing.T) {
	a := run("a", bundle.RoleBaseline, day, map[string]float64{"max_drawdown": 0.25})
	b := run("b", bundle.RoleOOS, day, map[string]float64{"max_drawdown": 0.1})
	bad := run("c", bundle.RoleOOS, day, map[string]float64{"max_drawdown": 0.26})
	none := run("d", bundle.RoleBaseline, day, nil)
	g := policy.Gate{Kind: "metric", Roles: roles("baseline", "oos"), Metric: "max_drawdown", Op: "<=",
		ValueFrom: "/limits/max_drawdown"}
	r := check(t, "all", g, evidence(a, b), wanted{policy.Pass, 0.25, 2, ""})
	if r.Threshold != 0.25 || r.Op != "<=" {
		t.Errorf("%+v", r)
	}
	check(t, "one is false", g, evidence(a, b, bad), wanted{policy.Fail, 0.26, 3, "oos"})
	check(t, "one is absent", g, evidence(none, b), wanted{policy.Pending, 0.1, 2, "baseline"})
	check(t, "false outweighs absent", g, evidence(none, bad), wanted{policy.Fail, 0.26, 2, "oos"})
	check(t, "no such run", g, evidence(), wanted{policy.Pending, nil, 0, "baseline"})
	g.ValueFrom = "/limits/max_daily_loss"
	check(t, "no such limit", g, evidence(a), wanted{policy.Pending, nil, 1, ""})

	folds := run("w", bundle.RoleBaseline, day, nil)
	for i, v := range []float64{2, 1, 3} {
		folds.Splits = append(folds.Splits,
			bundle.Split{SplitID: fmt.Sprint(i), Kind: "walk_forward",
				Metrics: map[string]float64{"sharpe_ratio": v}})
	}
	g = policy.Gate{Kind: "metric", Roles: roles("baseline"), SplitKinds: []string{"walk_forward"},
		Metric: "sharpe_ratio", Op: ">", Value: 0.5}
	check(t, "all splits", g, evidence(folds), wanted{policy.Pass, 1, 1, ""})
	g.Value = 1
	check(t, "one split is false", g, evidence(folds), wanted{policy.Fail, 1, 1, "baseline"})
	g.Value = 0.5
	folds.Splits = append(slices.Clone(folds.Splits), bundle.Split{SplitID: "x", Kind: "walk_forward"})
	check(t, "a split has none", g, evidence(folds), wanted{policy.Pending, nil, 1, "baseline"})

	for _, c := range []struct {
		op       string
		passing  float64
		failing  float64
		observed float64
	}{{"==", 0, 1, 1}, {"!=", 1, 0, 0}, {"<", -1, 0, 0}, {"<=", 0, 1, 1}, {">", 1, 0, 0}, {">=", 0, -1, -1}} {
		g := policy.Gate{Kind: "metric", Roles: roles("baseline"), Metric: "m", Op: c.op}
		good, worse := run("a", "baseline", day, map[string]float64{"m": c.passing}),
			run("b", "baseline", day, map[string]float64{"m": c.failing})
		check(t, c.op, g, evidence(good), wanted{policy.Pass, c.passing, 1, ""})
		check(t, c.op+" fails", g, evidence(good, worse), wanted{policy.Fail, c.observed, 2, "baseline"})
	}
}

func TestFreshness(t *testing.T) {
	g := policy.Gate{Kind: "freshness", Roles: roles("baseline", "falsification"), MaxAge: 90 * day}
	young, old := run("a", "baseline", day, nil), run("b", "falsification", 89*day, nil)
	r := check(t, "in time", g, evidence(young, run("a0", "baseline", 200*day, nil), old),
		wanted{policy.Pass, (89 * day).Seconds(), 2, ""})
	if !r.ValidUntil.Equal(now.Add(day)) {
		t.Errorf("valid until %s", r.ValidUntil)
	}
	check(t, "none", g, evidence(young), wanted{policy.Pending, day.Seconds(), 1, "falsification"})
	r = check(t, "too old", g, evidence(young, run("b", "falsification", 90*day, nil)),
		wanted{policy.Expired, (90 * day).Seconds(), 2, "falsification"})
	if !r.ValidUntil.Equal(now) {
		t.Errorf("ran out at %s", r.ValidUntil)
	}
	check(t, "ahead", g, evidence(old, run("a", "baseline", -time.Hour, nil)),
		wanted{policy.Pending, (89 * day).Seconds(), 2, "baseline"})
	check(t, "a fraction of a second ahead", g, evidence(old, run("a", "baseline", -time.Millisecond, nil)),
		wanted{policy.Pass, (89 * day).Seconds(), 2, ""})
	check(t, "missing outweighs expired", g, evidence(run("b", "baseline", 91*day, nil)),
		wanted{policy.Pending, (91 * day).Seconds(), 1, "falsification"})
}

func TestDrills(t *testing.T) {
	g := policy.Gate{Kind: "freshness", Drill: "kill_switch", MaxAge: 30 * day}
	drill := func(age time.Duration, pass bool, sha string) policy.Drill {
		return policy.Drill{Piece: policy.Piece{Seq: 9, SHA256: sha}, Drill: "kill_switch", Pass: pass,
			Done: now.Add(-age)}
	}
	for _, c := range []struct {
		name   string
		drills []policy.Drill
		want   wanted
	}{
		{"none", nil, wanted{policy.Pending, nil, 0, "kill_switch"}},
		{"another", []policy.Drill{{Drill: "fire", Pass: true, Done: now}},
			wanted{policy.Pending, nil, 0, "kill_switch"}},
		{"passed", []policy.Drill{drill(2*day, false, "a"), drill(day, true, "b")},
			wanted{policy.Pass, day.Seconds(), 1, ""}},
		{"the last failed", []policy.Drill{drill(day, false, "a"), drill(2*day, true, "b")},
			wanted{policy.Fail, day.Seconds(), 1, ""}},
		{"both at once", []policy.Drill{drill(day, true, "a"), drill(day, false, "b")},
			wanted{policy.Fail, day.Seconds(), 1, ""}},
		{"too old", []policy.Drill{drill(30*day, true, "a")},
			wanted{policy.Expired, (30 * day).Seconds(), 1, "kill_switch"}},
		{"failed long ago", []policy.Drill{drill(300*day, false, "a")},
			wanted{policy.Fail, (300 * day).Seconds(), 1, "kill_switch"}},
		{"ahead", []policy.Drill{drill(-time.Hour, true, "a")}, wanted{policy.Pending, 0, 1, "kill_switch"}},
	} {
		for range 2 {
			e := evidence()
			e.Drills = c.drills
			check(t, c.name, g, e, c.want)
			slices.Reverse(c.drills)
		}
	}
}

func TestSoak(t *testing.T) {
	g := policy.Gate{Kind: "soak", Role: bundle.RolePaper, Seconds: 100}
	soaked := func(id string, from, to time.Duration, covered float64) policy.Run {
		r := run(id, bundle.RolePaper, -to, nil)
		r.Started, r.CoveredSeconds = now.Add(from), &covered
		return r
	}
	s := time.Second
	check(t, "none", g, evidence(), wanted{policy.Pending, 0, 0, "paper"})
	check(t, "long enough", g, evidence(soaked("a", -200*s, -100*s, 100)), wanted{policy.Pass, 100, 1, ""})
	check(t, "stood still", g, evidence(soaked("a", -200*s, -100*s, 99)),
		wanted{policy.Pending, 99, 1, "paper"})
	check(t, "claims more than the time", g, evidence(soaked("a", -100*s, -50*s, 1e9)),
		wanted{policy.Pending, 50, 1, "paper"})
	check(t, "twice at a time", g, evidence(soaked("a", -100*s, -40*s, 60), soaked("b", -90*s, -30*s, 60)),
		wanted{policy.Pending, 70, 2, "paper"})
	check(t, "one after the other", g, evidence(soaked("a", -300*s, -240*s, 60), soaked("b", -60*s, 0, 60)),
		wanted{policy.Pass, 120, 2, ""})
	check(t, "one within the other", g,
		evidence(soaked("a", -300*s, -200*s, 100), soaked("b", -290*s, -280*s, 10)),
		wanted{policy.Pass, 100, 2, ""})
	check(t, "in the future", g, evidence(soaked("a", -10*s, 1000*s, 1010)),
		wanted{policy.Pending, 10, 1, "paper"})
	bare := run("a", bundle.RolePaper, day, nil)
	check(t, "no times", g, evidence(bare), wanted{policy.Pending, 0, 1, "paper"})
}

// TestSoakIsNeverTooMuch: neither more than was covered nor than went by.
func TestSoakIsNeverTooMuch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var runs []policy.Run
		covered, seconds := 0.0, map[int]bool{}
		for i := range rapid.IntRange(0, 6).Draw(t, "runs") {
			from := rapid.IntRange(0, 50).Draw(t, "from")
			to := from + rapid.IntRange(0, 50).Draw(t, "length")
			c := float64(rapid.IntRange(0, 80).Draw(t, "covered"))
			r := run(fmt.Sprint(i), bundle.RolePaper, 0, nil)
			r.Started, r.Completed, r.CoveredSeconds = now.Add(time.Duration(from-200)*time.Second),
				now.Add(time.Duration(to-200)*time.Second), &c
			covered += c
			for s := from; s < to; s++ {
				seconds[s] = true
			}
			runs = append(runs, r)
		}
		if got, want := evidence(runs...).SoakSeconds(bundle.RolePaper, now),
			min(covered, float64(len(seconds))); got != want {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

func replay(by string, age time.Duration, report string, runs ...string) policy.ReplayResult {
	r := policy.ReplayResult{Piece: policy.Piece{Seq: 7, SHA256: by + report + age.String()}, Principal: by,
		Made: now.Add(-age)}
	for _, id := range runs {
		r.Runs = append(r.Runs,
			bundle.ReplayedRun{RunID: id, RequestHash: "q-" + id, ReportSHA256: report + id})
	}
	return r
}

func TestReplayAndAssurance(t *testing.T) {
	g := policy.Gate{Kind: "replay", Roles: roles("baseline")}
	rungs := policy.Gate{Kind: "assurance", Rungs: []string{"signed", "reproduced"}}
	a, b := run("a", "baseline", day, nil), run("b", "baseline", day, nil)
	for _, c := range []struct {
		name    string
		replays []policy.ReplayResult
		want    wanted
	}{
		{"none", nil, wanted{policy.Pending, 0, 0, ""}},
		{"equal", []policy.ReplayResult{replay("bob", 0, "r-", "a", "b", "other")},
			wanted{policy.Pass, 2, 1, ""}},
		{"by two", []policy.ReplayResult{replay("bob", 0, "r-", "a"), replay("eve", 0, "r-", "b")},
			wanted{policy.Pass, 2, 2, ""}},
		{"one run is missing", []policy.ReplayResult{replay("bob", 0, "r-", "a")},
			wanted{policy.Pending, 1, 1, ""}},
		{"by the packer", []policy.ReplayResult{replay("Alice ", 0, "r-", "a", "b")},
			wanted{policy.Pending, 0, 0, ""}},
		{"differs", []policy.ReplayResult{replay("bob", 0, "x-", "a", "b")}, wanted{policy.Fail, 0, 1, ""}},
		{"equal and different",
			[]policy.ReplayResult{replay("bob", 0, "r-", "a", "b"), replay("eve", 0, "x-", "a")},
			wanted{policy.Fail, 1, 2, ""}},
		{"different for the packer",
			[]policy.ReplayResult{replay("bob", 0, "r-", "a", "b"), replay("alice", 0, "x-", "a")},
			wanted{policy.Fail, 1, 2, ""}},
		{"put right",
			[]policy.ReplayResult{replay("bob", time.Hour, "x-", "a"), replay("bob", 0, "r-", "a", "b")},
			wanted{policy.Pass, 2, 1, ""}},
		{"different in the end",
			[]policy.ReplayResult{replay("bob", time.Hour, "r-", "a", "b"), replay("bob", 0, "x-", "a")},
			wanted{policy.Fail, 1, 2, ""}},
		{"both at once", []policy.ReplayResult{replay("bob", 0, "r-", "a", "b"), replay("bob", 0, "x-", "a")},
			wanted{policy.Fail, 1, 2, ""}},
	} {
		for range 2 {
			e := evidence(a, b)
			e.Replays, e.Packers = c.replays, []string{"alice"}
			check(t, c.name, g, e, c.want)
			if got := slices.Contains(e.Rungs(), "reproduced"); got != (c.want.verdict == policy.Pass) {
				t.Errorf("%s: reproduced: %v", c.name, got)
			}
			slices.Reverse(c.replays)
		}
	}
	other := replay("bob", 0, "r-", "a", "b")
	other.Runs[0].RequestHash = "another question"
	e := evidence(a, b)
	e.Replays = []policy.ReplayResult{other}
	check(t, "another question", g, e, wanted{policy.Fail, 1, 1, ""})
	check(t, "no such run", g, evidence(), wanted{policy.Pending, nil, 0, "baseline"})

	e = evidence(a, b)
	check(t, "unsigned", rungs, e, wanted{policy.Pending, []string{"hash_claimed"}, 1, "signed"})
	e.Signatures = []policy.Signature{{Piece: policy.Piece{Seq: 4, SHA256: "s"}, Principal: "alice"}}
	e.Verified = true
	check(t, "signed", rungs, e,
		wanted{policy.Pending, []string{"hash_claimed", "hash_verified", "signed"}, 2, "reproduced"})
	e.Replays = []policy.ReplayResult{replay("bob", 0, "r-", "a", "b")}
	check(t, "reproduced", rungs, e,
		wanted{policy.Pass, []string{"hash_claimed", "hash_verified", "signed", "reproduced"}, 3, ""})
}

func TestNoOpenIncident(t *testing.T) {
	g := policy.Gate{Kind: "no_open_incident"}
	e := evidence()
	check(t, "none", g, e, wanted{policy.Pass, 0, 0, ""})
	e.Incidents = []policy.Incident{{Piece: policy.Piece{Seq: 2, SHA256: "i"}, ID: "i-1"}}
	check(t, "a warning", g, e, wanted{policy.Fail, 1, 1, "i-1"})
}

func TestUnknownKindsWait(t *testing.T) {
	check(t, "unknown", policy.Gate{Kind: "cel"}, evidence(), wanted{policy.Pending, nil, 0, ""})
}
