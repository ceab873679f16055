package promotion_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/digest"
)

// established is a plane of the newest rules, or of those before them.
func established(t tb, rules int64) *plane {
	p := trusted(t)
	p.adoptRules(rules)
	return p
}

// byRules plays an attack under the rules before and those of RulesEstablished, and holds what it
// comes to against both: what a log has from before stays so.
func byRules[T comparable](t *testing.T, before, after T, attack func(p *plane) T) {
	t.Helper()
	for rules, want := range map[int64]T{
		promotion.RulesTrusted: before, promotion.RulesEstablished: after,
	} {
		if got := attack(established(t, rules)); got != want {
			t.Errorf("rules %d: %v, want %v", rules, got, want)
		}
	}
}

const (
	yearFrom = "2020-01-01T00:00:00Z"
	yearTo   = "2021-01-01T00:00:00Z"
)

// trial is one of a list, with returns where it has any.
func trial(key, returns string, copies ...string) bundle.Trial {
	sum := func(s string) string { return digest.SHA256Hex([]byte(s)) }
	t := bundle.Trial{Key: sum(key), RunID: "run-" + key, Candles: []string{sum("candles")}, From: yearFrom,
		To: yearTo}
	if returns != "" {
		t.ReturnsSHA256 = sum(returns)
	}
	for _, c := range copies {
		t.Copies = append(t.Copies, sum(c))
	}
	return t
}

// tried gives a bundle a list of trials on the candles of a year.
func tried(slug string, list ...bundle.Trial) func(*bundle.Bundle) {
	return func(b *bundle.Bundle) {
		b.Data = []bundle.Dataset{{DatasetID: "x", SHA256: digest.SHA256Hex([]byte("candles")), Rows: 8784,
			Start: yearFrom, End: yearTo}}
		b.Candidate.CandidateID, b.Candidate.FamilyID, b.Candidate.Slug = slug, slug, slug
		b.Strategy.Params = fmt.Appendf(nil, `{"fast":10,"slug":%q}`, slug)
		b.Trials = &bundle.Trials{FamilyTrials: int64(len(list)), Tried: list}
	}
}

func numbered(n int, returns func(i int) string) []bundle.Trial {
	var list []bundle.Trial
	for i := range n {
		list = append(list, trial(fmt.Sprint("t", i), returns(i)))
	}
	return list
}

func (p *plane) counted(id string) int64 {
	p.t.Helper()
	return p.plan(id, bundle.Paper).Numbers.Trials.Plane
}

// TestDeclaredCopiesJoinNothing: a list that names all trials of the log copies of one, or gives all
// of them the same returns, makes them no fewer.
func TestDeclaredCopiesJoinNothing(t *testing.T) {
	var all []string
	for i := range 50 {
		all = append(all, fmt.Sprint("t", i))
	}
	none := func(int) string { return "" }
	byRules(t, 1, 50, func(p *plane) int64 {
		p.submit(p.good(tried("search", numbered(50, none)...)), signature("packer"))
		return p.counted(p.submit(p.good(tried("best", trial("t0", "", all[1:]...))), signature("packer")))
	})
	byRules(t, 2, 51, func(p *plane) int64 {
		own := func(i int) string { return fmt.Sprint("returns", i) }
		p.submit(p.good(tried("search", numbered(50, own)...)), signature("packer"))
		same := numbered(50, func(int) string { return "one" })
		p.submit(p.good(tried("junk", same...)), signature("packer"))
		return p.counted(p.submit(p.good(tried("best", trial("mine", ""))), signature("packer")))
	})
}

// TestUnsignedListsCountForNobody: whoever reaches the plane can post, and makes the trials of
// others no more; from when a lab has signed, the list counts.
func TestUnsignedListsCountForNobody(t *testing.T) {
	junk := numbered(50, func(int) string { return "" })
	byRules(t, 51, 1, func(p *plane) int64 {
		p.submit(p.good(tried("junk", junk...)))
		return p.counted(p.submit(p.good(tried("mine", trial("mine", ""))), signature("packer")))
	})
	p := established(t, promotion.RulesEstablished)
	search := p.submit(p.good(tried("search", junk...)))
	p.say(search, signature("packer"))
	if n := p.counted(p.submit(p.good(tried("mine", trial("mine", ""))), signature("packer"))); n != 51 {
		t.Errorf("%d trials after the signature", n)
	}
}

// TestASearchThatWasRegistered: its trials count as registered, not as declared, with those of all
// plans before the candles ended; on old candles it is no better than before.
func TestASearchThatWasRegistered(t *testing.T) {
	byRules(t, 1, 37, func(p *plane) int64 {
		register := func(name, family string, trials int64) string {
			sum := digest.SHA256Hex([]byte(name))
			p.append(&promotion.Entry{Type: bundle.TypePlan, Predicate: &promotion.RegisteredPlan{
				PlanRegistration: bundle.PlanRegistration{PlanID: bundle.PlanID(sum), PlanSHA256: sum,
					FamilyID: family, Slug: family, Trials: trials, Schema: bundle.SchemaPlan},
				RecordedAt: p.stamp()}})
			return bundle.PlanID(sum)
		}
		plan := register("one", "mine", 30)
		register("two", "other", 7)
		from := p.now
		p.idle(10 * day)
		register("too late for these candles", "third", 500)
		return p.counted(p.submit(p.good(tried("mine", trial("mine", "")), func(b *bundle.Bundle) {
			b.Data[0].Start = bundle.FormatTime(from.Add(day))
			b.Data[0].End = bundle.FormatTime(from.Add(9 * day))
			b.Candidate.Lineage.FamilyRunID = plan
		}), signature("packer")))
	})
}

// TestTheBestOfManyUnsigned: who seals fifty programs unsigned, watches them, and signs the best has
// no days of it yet; and whoever signs what was played unsigned answers for all of them.
func TestTheBestOfManyUnsigned(t *testing.T) {
	byRules(t, "claim 1, 1 days", "claim 1, 0 days", func(p *plane) string {
		var ids []string
		for i := range 5 {
			ids = append(ids, p.submit(p.good(params(fmt.Sprintf(`{"fast":%d}`, i)))))
		}
		best := ids[4]
		work, err := promotion.ListShadowWork(p.w)
		if err != nil {
			t.Fatal(err)
		}
		if len(work.Revisions) > 0 {
			p.play(best, bundle.SourceExchange, []float64{0.01})
		} else {
			p.idle(3 * day)
			first, _ := bundle.Day("2026-11-21")
			said := shadow(bundle.SourceExchange, days(first, 0.01))
			predicate := said.predicate.(bundle.Shadow)
			if e := promotion.CheckShadow(p.w, best, &predicate, "", p.now); e == nil ||
				e.Reason != bundle.ReasonUnsigned {
				t.Errorf("%v", e)
			}
			p.say(best, said)
			if why := p.state(best).Shadow.Reason; !strings.Contains(why, "no lab has signed") {
				t.Error(why)
			}
		}
		p.say(best, signature("packer"))
		s := p.state(best).Shadow
		if s.Days == 0 && s.FirstDay != "2026-11-24" {
			t.Error("the first day is", s.FirstDay)
		}
		return fmt.Sprintf("claim %d, %d days", s.Claim, s.Days)
	})

	// A log of before: what was played unsigned is one of all.
	p := established(t, promotion.RulesTrusted)
	var ids []string
	for i := range 5 {
		ids = append(ids, p.submit(p.good(params(fmt.Sprintf(`{"fast":%d}`, i)))))
	}
	p.play(ids[4], bundle.SourceExchange, []float64{0.01})
	p.adoptRules(promotion.RulesEstablished)
	p.say(ids[4], signature("packer"))
	if s := p.state(ids[4]).Shadow; s.Claim != 5 || s.EBar != 100 || s.Days != 1 {
		t.Errorf("%+v", s)
	}
}

// TestEachSealIsAClaim: what was packed again counts for those that follow, and what others have
// sealed does not.
func TestEachSealIsAClaim(t *testing.T) {
	byRules(t, int64(2), int64(3), func(p *plane) int64 {
		first := p.submit(p.good(), signature("packer"))
		p.submit(p.good(child(first, bundle.ChangeNonMaterial), version("1.0.1")), signature("packer"))
		p.submit(p.good(params(`{"fast":11}`)), signature("owner@example.com"))
		p.submit(p.good(params(`{"fast":13}`)))
		second := p.submit(p.good(params(`{"fast":12}`)), signature("packer"))
		p.play(second, bundle.SourceExchange, []float64{0.01})
		if s := p.state(first).Shadow; s.Claim != 1 {
			t.Errorf("the first is claim %d", s.Claim)
		}
		return p.state(second).Shadow.Claim
	})
}

func compared(run string, diverging int64) statement {
	s := shadow(bundle.SourceImport, nil)
	said := s.predicate.(bundle.Shadow)
	said.Compared = []bundle.ComparedRun{{RunID: run, Fills: 4, Diverging: diverging}}
	s.predicate = said
	return s
}

func hosted(by string, r bundle.Run) statement {
	return statement{by, bundle.TypeRun, bundle.HostedRun{RunID: r.RunID, ReportSHA256: r.ReportSHA256,
		MetadataSHA256: r.MetadataSHA256}}
}

// TestTheWorkersFillsCount: what the shadow has found is not hidden by what the packer declares.
func TestTheWorkersFillsCount(t *testing.T) {
	byRules(t, policy.Pass, policy.Fail, func(p *plane) policy.Verdict {
		soak := p.soaked(bundle.RolePaper, 15)
		id := p.submit(p.good(with(soak)), signature("packer"))
		p.say(id, hosted("host-1", soak), compared(soak.RunID, 3))
		v, _ := result(t, p, id, bundle.Canary, "paper.matches_backtest")
		p.say(id, compared(soak.RunID, 0))
		if again, _ := result(t, p, id, bundle.Canary, "paper.matches_backtest"); again != policy.Pass {
			t.Error(again)
		}
		return v
	})
}

// TestRunsThatNoHostHasSigned: a fortnight in paper that only the packer vouches for is none.
func TestRunsThatNoHostHasSigned(t *testing.T) {
	gates := []string{"soak.paper", "paper.matches_backtest"}
	byRules(t, "pass pass", "pending pending", func(p *plane) string {
		soak := p.soaked(bundle.RolePaper, 15)
		id := p.submit(p.good(with(soak)), signature("packer"))
		both := func() string {
			var list []string
			for _, g := range gates {
				v, why := result(t, p, id, bundle.Canary, g)
				if v == policy.Pending && !strings.Contains(why, "no host has signed run soak-paper") {
					t.Error(why)
				}
				list = append(list, string(v))
			}
			return strings.Join(list, " ")
		}
		other := soak
		other.ReportSHA256 = digest.SHA256Hex(nil)
		p.say(id, hosted("host-1", other), hosted("otto", soak))
		first := both()
		p.say(id, hosted("host-1", soak))
		if got := both(); got != "pass pass" {
			t.Error("signed by its host:", got)
		}
		p.trust(2, "2039-01-01T00:00:00Z", func(name string, k *bundle.TrustKey) {
			if name == "host-1" {
				k.Status = bundle.KeyRevoked
			}
		})
		if got := both(); got != first {
			t.Error("after its key was revoked:", got)
		}
		return first
	})
	// A run that fails is not made to count for nothing by leaving it unsigned.
	p := established(t, promotion.RulesEstablished)
	soak := p.soaked(bundle.RolePaper, 15)
	soak.Summary["diverging_fills"] = 2
	id := p.submit(p.good(with(soak)), signature("packer"))
	if v, _ := result(t, p, id, bundle.Canary, "paper.matches_backtest"); v != policy.Fail {
		t.Error(v)
	}
	var command string
	x, refused := p.w.Experiments(bundle.SubjectRevision, id, "canary", p.now)
	if refused != nil {
		t.Fatal(refused)
	}
	for _, one := range x.Experiments {
		if one.GateID == "soak.paper" {
			command = one.Command
		}
	}
	if command != "governance hosted "+id+" --run soak-paper --key FILE" {
		t.Error(command)
	}
}

// TestWhatWasBeforeStays: a revision that is live by the rules before stays so, with its soaks, its
// claim and its count.
func TestWhatWasBeforeStays(t *testing.T) {
	p := established(t, promotion.RulesProspective)
	id := p.live()
	p.stands(id, "live/active")
	before := p.plan(id, bundle.Live)
	p.adoptRules(promotion.RulesEstablished)
	p.stands(id, "live/active")
	if after := p.plan(id, bundle.Live); after.PlanDigest != before.PlanDigest {
		t.Error("its plan has changed")
	}
}
