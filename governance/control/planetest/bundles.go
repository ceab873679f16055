package planetest

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
)

// Origin is the log's name.
const Origin = "governance.lab.example"

// Start is the time at which planes start.
var Start = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

const day = 24 * time.Hour

// Run is a run that was completed some time before now.
func Run(now time.Time, id string, role bundle.Role, age time.Duration, summary map[string]float64) bundle.Run {
	done := now.Add(-age).Truncate(time.Second)
	return bundle.Run{
		RunID: id, Role: role, RequestHash: digest.SHA256Hex([]byte("question " + id)), ReportSHA256: digest.SHA256Hex([]byte("report " + id)),
		StartedAt: bundle.FormatTime(done.Add(-time.Hour)), CompletedAt: bundle.FormatTime(done), Summary: summary,
		Splits: []bundle.Split{{SplitID: "test", Kind: "test", Metrics: map[string]float64{"sharpe_ratio": 1}}},
	}
}

// Soaked is a run that went on for fifteen days until a minute before now.
func Soaked(now time.Time, role bundle.Role) bundle.Run {
	r := Run(now, "soak-"+string(role), role, time.Minute, map[string]float64{"diverging_fills": 0})
	seconds := 15 * day.Seconds()
	done, _ := time.Parse(time.RFC3339, r.CompletedAt)
	r.StartedAt, r.CoveredSeconds = bundle.FormatTime(done.Add(-15*day)), &seconds
	return r
}

// Good is a bundle that passes plan(paper), and what edit makes of it.
func Good(now time.Time, edit ...func(*bundle.Bundle)) *bundle.Document {
	b := bundle.Bundle{
		Candidate: bundle.Candidate{
			CandidateID: "sma-cross.btc-usdt-1h", FamilyID: "sma-cross", Slug: "sma-cross", Owner: Owner, Lineage: bundle.Lineage{ChangeClass: bundle.ChangeInitial},
		},
		Strategy: bundle.Strategy{
			Name: "sma_cross", Version: "1.0.0", Params: json.RawMessage(`{"fast":10}`), Symbols: []string{"BTC/USDT"}, Timeframes: []string{"1h"},
			Plugin: bundle.Plugin{SHA256: digest.SHA256Hex([]byte("plugin")), Size: 1, OS: "linux", Arch: "amd64", ProtocolVersion: 1},
		},
		Engine: bundle.Engine{Name: "assay", Version: "1"},
		Runs: []bundle.Run{
			Run(now, "base", bundle.RoleBaseline, day, map[string]float64{"total_trades": 100, "max_drawdown": 0.2, "stress_failed": 0}),
			Run(now, "false", bundle.RoleFalsification, day, map[string]float64{"gates_failed": 0}),
		},
		Trials: &bundle.Trials{FamilyTrials: 12},
		Limits: bundle.Limits{
			MaxCapital: "10000", MaxOrderValue: "500", MaxPositionValue: "2500", MaxOrdersPerMinute: 10, MaxInstruments: 1, MaxVenues: 1,
			MaxDrawdown: "0.25", MaxDailyLoss: "300",
		},
		SealRequest: bundle.SealRequest{
			RequestedStage: bundle.Live, RequestedBy: "requester@example.com", RequestedAt: bundle.FormatTime(now),
			ExpiresAt: bundle.FormatTime(now.Add(30 * day)), LogOrigin: Origin,
		},
	}
	for _, e := range edit {
		e(&b)
	}
	Prove(&b)
	doc, err := bundle.Seal(b)
	if err != nil {
		panic(err) // a mistake of the test
	}
	return doc
}

// Params gives a bundle other parameters: another revision that would run something else.
func Params(text string) func(*bundle.Bundle) {
	return func(b *bundle.Bundle) { b.Strategy.Params = json.RawMessage(text) }
}

// Target asks for another stage.
func Target(s bundle.Stage) func(*bundle.Bundle) {
	return func(b *bundle.Bundle) { b.SealRequest.RequestedStage = s }
}

// Title tells bundles apart that would run the same.
func Title(s string) func(*bundle.Bundle) { return func(b *bundle.Bundle) { b.Candidate.Title = s } }

// Size fills a bundle up to about so many bytes.
func Size(bytes int) func(*bundle.Bundle) {
	return func(b *bundle.Bundle) {
		for range bytes / 1000 {
			b.KnownLimitations = append(b.KnownLimitations, strings.Repeat("x", 997))
		}
	}
}

// WithSoaks adds fifteen days of paper and canary.
func WithSoaks(now time.Time) func(*bundle.Bundle) {
	return func(b *bundle.Bundle) {
		b.Runs = append(b.Runs, Soaked(now, bundle.RolePaper), Soaked(now, bundle.RoleCanary))
	}
}

// Replay reports that all runs of a bundle gave the same reports and numbers.
func Replay(doc *bundle.Document, now time.Time) bundle.Replay {
	r := bundle.Replay{Common: Common(doc, now)}
	read := Evidence(&doc.Bundle)
	for i, run := range doc.Bundle.Runs {
		again := bundle.ReplayedRun{
			RunID: run.RunID, RequestHash: run.RequestHash, ReportSHA256: run.ReportSHA256, Trades: []bundle.SplitTrades{},
		}
		if read != nil {
			again.Inputs = &bundle.Inputs{
				Summary: run.Summary, Splits: run.Splits, Falsification: read[i].Falsification,
			}
		}
		r.Runs = append(r.Runs, again)
	}
	return r
}
