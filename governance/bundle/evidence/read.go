package evidence

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
)

// The files that are read, below the folder of a run.
const (
	ReportName   = "report.json"
	RequestName  = "request.json"
	MetadataName = "metadata.json"
	AttackName   = "falsify/summary.json"
	LockedName   = "splits/" + lockedSplit + "/metrics.json"
)

// lockedSplit is the split whose metrics the report of a lab run does not show.
const lockedSplit = "test"

// The kinds of runs.
const (
	kindRun           = "run"
	kindFalsification = "falsification"
	kindService       = "service"
)

const (
	statusCompleted = "completed"
	statusFailed    = "failed"
	metadataSchema  = "run-metadata/v1"
	inconclusive    = "inconclusive"
)

// Files gives a file of a run by its name below the run's folder. The error of one that is
// not there is passed on.
type Files func(name string) ([]byte, error)

// Run is what the files of one run say.
type Run struct {
	bundle.Inputs
	RunID, RequestHash string
	Kind, Status       string
	// Role is the role of a paper or live run; of other kinds it is not in the files.
	Role               bundle.Role
	Started, Completed time.Time
	// CoveredSeconds is how long a paper or live run was at work, nil for other kinds.
	CoveredSeconds *float64
	// BaseRequestHash is the question of the run that a falsification attacks.
	BaseRequestHash string
	Edge            *bundle.Edge
	Impact          *bundle.Impact

	request baseRequest
	begins  []time.Time // of the splits out of sample
	trained int         // splits out of sample that begin before the end of the training data
}

// baseRequest is the part of request.json that reports what was run on what.
type baseRequest struct {
	Kind       string          `json:"kind"`
	Params     json.RawMessage `json:"strategy_params"`
	Symbols    []string        `json:"symbols"`
	Timeframe  string          `json:"timeframe"`
	Exchange   string          `json:"exchange"`
	Start, End time.Time       `json:"-"`
	StartDate  string          `json:"start_date"`
	EndDate    string          `json:"end_date"`
	// TrainedUntil is the end of the data that the program was made with, nil where it is not
	// declared.
	TrainedUntil *time.Time `json:"trained_until"`
	Inputs       struct {
		PluginSHA256 string `json:"plugin_sha256"`
		Engine       struct {
			SHA256 string `json:"sha256"`
		} `json:"engine"`
		Data []dataRef `json:"data"`
	} `json:"inputs"`
}

// report is the part of report.json that is read; null metrics are nil.
type report struct {
	RunID       string        `json:"run_id"`
	RequestHash string        `json:"request_hash"`
	Kind        string        `json:"kind"`
	Status      string        `json:"status"`
	Splits      []reportSplit `json:"splits"`
	WalkForward *struct {
		Metrics map[string]*float64 `json:"metrics"`
	} `json:"walk_forward"`
	Stress []struct {
		Verdict string `json:"verdict"`
	} `json:"stress"`
	Falsification *struct {
		BaseRunID string `json:"base_run_id"`
		Overall   string `json:"overall"`
	} `json:"falsification"`
	// Reports of earlier versions do not have these two.
	StressFailed *int64 `json:"stress_failed"`
	GatesFailed  *int64 `json:"gates_failed"`
}

// reportSplit is a split of a report; From is the index of its first candle.
type reportSplit struct {
	ID      string              `json:"split_id"`
	Role    string              `json:"role"`
	From    int                 `json:"from"`
	TSFrom  *time.Time          `json:"ts_from"`
	Metrics map[string]*float64 `json:"metrics"`
}

// Metadata is the part of metadata.json that is read.
type Metadata struct {
	Schema      string          `json:"schema"`
	RunID       string          `json:"run_id"`
	RequestHash string          `json:"request_hash"`
	Kind        string          `json:"kind"`
	Status      string          `json:"status"`
	Params      json.RawMessage `json:"params"`
	Symbols     []string        `json:"symbols"`
	Timeframe   string          `json:"timeframe"`
	Plugin      struct {
		SHA256 string `json:"sha256"`
	} `json:"plugin"`
	Failure *struct {
		Code string `json:"code"`
	} `json:"failure"`
	Service *struct {
		Mode           string   `json:"mode"`
		Stage          string   `json:"stage"`
		Message        string   `json:"message"`
		CoveredSeconds *float64 `json:"covered_seconds"`
		DivergingFills *int64   `json:"diverging_fills"`
	} `json:"service"`
	Volatile struct {
		StartedAt   string `json:"started_at"`
		CompletedAt string `json:"completed_at"`
	} `json:"volatile"`
}

// attack is the part of falsify/summary.json that is read.
type attack struct {
	BaseRunID       string               `json:"base_run_id"`
	BaseRequestHash string               `json:"base_request_hash"`
	Overall         string               `json:"overall"`
	Tests           []bundle.TestVerdict `json:"tests"`
	// Statistics are those of the tests, read of the same list a second time.
	Statistics []testStatistic `json:"-"`
	// Reasons are why the verdict is not better, beside what the tests have found.
	Reasons []json.RawMessage `json:"reasons"`
	Ledger  struct {
		Trials int64 `json:"n_trials"`
	} `json:"ledger"`
}

// testStatistic is the statistic of one test.
type testStatistic struct {
	ID        string `json:"id"`
	Verdict   string `json:"verdict"`
	Reason    string `json:"reason_code"`
	Statistic struct {
		Name  string   `json:"name"`
		Value *float64 `json:"value"`
	} `json:"statistic"`
	Params json.RawMessage `json:"params"`
}

// overalls are what a falsification can come to.
var overalls = []string{"pass", "warn", "fail", inconclusive}

// Read works out what gates judge of a run in a role. The error is that of a file that
// cannot be had, or reports in which file something is not as a lab writes it.
func Read(role bundle.Role, files Files) (*Run, error) {
	var rep report
	var m Metadata
	run := &Run{Inputs: bundle.Inputs{Splits: []bundle.Split{}}}
	for _, f := range []struct {
		name string
		into any
	}{{ReportName, &rep}, {RequestName, &run.request}, {MetadataName, &m}} {
		if err := load(files, f.name, f.into); err != nil {
			return nil, err
		}
	}
	if err := agree(&rep, &m, &run.request); err != nil {
		return nil, err
	}
	for _, s := range rep.Splits {
		if (s.Role == roleWalkForward || s.Role == roleTest) && s.TSFrom != nil {
			run.begins = append(run.begins, *s.TSFrom)
		}
	}
	run.RunID, run.RequestHash, run.Kind, run.Status = rep.RunID, rep.RequestHash, rep.Kind, rep.Status
	if err := run.times(&m); err != nil {
		return nil, err
	}
	var locked map[string]float64
	for _, s := range rep.Splits {
		if s.ID == lockedSplit && rep.Kind == kindRun {
			var file struct {
				Metrics map[string]*float64 `json:"metrics"`
			}
			if err := load(files, LockedName, &file); err != nil {
				return nil, err
			}
			locked = defined(file.Metrics)
		}
	}
	if run.leaveOutTrained(&rep) {
		locked = nil
	}
	run.splits(&rep, locked)
	if rep.Kind == kindFalsification {
		return run, run.falsification(&rep, files)
	}
	run.summarise(role, &rep, locked)
	if m.Service != nil && m.Service.DivergingFills != nil {
		run.Summary["diverging_fills"] = float64(*m.Service.DivergingFills)
	}
	return run, run.derive(&rep, nil, files)
}

// invalidError reports that a file is not as a lab writes it.
type invalidError struct{ name, problem string }

// Error names the file.
func (e *invalidError) Error() string { return e.name + ": " + e.problem }

func invalid(name, format string, args ...any) error {
	return &invalidError{name, fmt.Sprintf(format, args...)}
}

// load reads a JSON file: each name once, numbers that are finite.
func load(files Files, name string, into any) error {
	text, err := files(name)
	if err != nil {
		return err
	}
	if err := jsonv2.Unmarshal(text, into); err != nil {
		return invalid(name, "it cannot be read as what a lab writes")
	}
	return nil
}

// agree holds report, metadata and request of a run against each other.
func agree(rep *report, m *Metadata, q *baseRequest) error {
	switch {
	case m.Schema != metadataSchema:
		return invalid(MetadataName, "its schema is not %s", metadataSchema)
	case m.RunID != rep.RunID || m.RequestHash != rep.RequestHash, m.Kind != rep.Kind ||
		m.Status != rep.Status:
		return invalid(MetadataName, "it is not of the run of %s", ReportName)
	case rep.StressFailed != nil && (rep.stressFailed() == nil || *rep.StressFailed != *rep.stressFailed()):
		return invalid(ReportName, "its stress_failed is not that of its stress tests")
	case q.Kind != rep.Kind:
		return invalid(RequestName, "it is not of the run of %s", ReportName)
	case (rep.Kind == kindService) != (m.Service != nil):
		return invalid(MetadataName, "only runs of the service have a service")
	}
	var ok bool
	for _, t := range []struct {
		text string
		into *time.Time
	}{{q.StartDate, &q.Start}, {q.EndDate, &q.End}} {
		if *t.into, ok = field.ParseTime(t.text); !ok && t.text != "" { // as of a live run
			return invalid(RequestName, "its dates are not RFC 3339")
		}
	}
	return nil
}

// times are those of the run, and of a paper or live run how long it was at work and in
// which role.
func (r *Run) times(m *Metadata) error {
	var ok, also bool
	r.Started, ok = field.ParseTime(m.Volatile.StartedAt)
	r.Completed, also = field.ParseTime(m.Volatile.CompletedAt)
	if !ok || !also {
		return invalid(MetadataName, "its times are not RFC 3339")
	}
	s := m.Service
	if s == nil {
		return nil
	}
	seconds := math.Floor(max(r.Completed.Sub(r.Started), 0).Seconds())
	if s.CoveredSeconds != nil {
		seconds = min(seconds, math.Floor(max(*s.CoveredSeconds, 0)))
	}
	r.CoveredSeconds, r.Role = &seconds, m.VenueRole()
	return nil
}

// VenueRole is the role of a paper or live run: the registry stage that its host has
// recorded, else its mode; "" for other runs.
func (m *Metadata) VenueRole() bundle.Role {
	s := m.Service
	if s == nil || s.Mode != string(bundle.RolePaper) && s.Mode != string(bundle.RoleLive) {
		return ""
	}
	switch role := bundle.Role(s.Stage); role {
	case bundle.RolePaper, bundle.RoleCanary, bundle.RoleLive:
		return role
	}
	return bundle.Role(s.Mode)
}

// leaveOutTrained takes the splits out of a report that count as out of sample and begin before
// the end of the data that the program was made with: on these it was not. It reports whether the
// locked test is one of them.
func (r *Run) leaveOutTrained(rep *report) (test bool) {
	end := r.request.TrainedUntil
	if end == nil {
		return false
	}
	kept := rep.Splits[:0]
	for _, s := range rep.Splits {
		outside := s.Role == roleWalkForward || s.Role == roleTest
		if !outside || s.TSFrom != nil && !s.TSFrom.Before(*end) {
			kept = append(kept, s)
			continue
		}
		r.trained++
		test = test || s.ID == lockedSplit
		if s.Role == roleWalkForward {
			rep.WalkForward = nil // its metrics are of all windows together
		}
	}
	rep.Splits = kept
	return test
}

// splits are those whose kind a bundle knows, with the locked metrics where they belong.
func (r *Run) splits(rep *report, locked map[string]float64) {
	for _, s := range rep.Splits {
		if !slices.Contains(bundle.SplitKinds(), s.Role) {
			continue
		}
		values := defined(s.Metrics)
		if locked != nil && s.ID == lockedSplit {
			values = locked
		}
		r.Splits = append(r.Splits, bundle.Split{SplitID: s.ID, Kind: s.Role, Metrics: values})
	}
}

// summarise takes the metrics of the locked test, else of the whole run, else of the
// stitched walk-forward; of a baseline also the stress tests that failed.
func (r *Run) summarise(role bundle.Role, rep *report, locked map[string]float64) {
	r.Summary = map[string]float64{}
	switch {
	case locked != nil:
		for name, v := range locked {
			r.Summary[name] = v
		}
	default:
		if rep.WalkForward != nil {
			r.Summary = defined(rep.WalkForward.Metrics)
		}
		for _, s := range rep.Splits {
			if s.ID == "full" {
				r.Summary = defined(s.Metrics)
			}
		}
	}
	if failed := rep.stressFailed(); failed != nil && role == bundle.RoleBaseline {
		r.Summary["stress_failed"] = float64(*failed)
	}
}

// stressFailed counts the stress tests that failed, nil where none was made.
func (rep *report) stressFailed() *int64 {
	if len(rep.Stress) == 0 || rep.Kind == kindFalsification { // which counts its gates
		return nil
	}
	failed := int64(0)
	for _, s := range rep.Stress {
		if s.Verdict == "fail" {
			failed++
		}
	}
	return &failed
}

// reasonForm is what the reason of a warning looks like.
var reasonForm = regexp.MustCompile(`^[a-z][a-z0-9_.]{0,63}$`)

// falsification counts the gates that failed, unless it is inconclusive.
func (r *Run) falsification(rep *report, files Files) error {
	var a attack
	if err := load(files, AttackName, &a); err != nil {
		return err
	}
	var again struct {
		Tests []testStatistic `json:"tests"`
	}
	if err := load(files, AttackName, &again); err != nil {
		return err
	}
	a.Statistics = again.Tests
	found := &bundle.Falsification{
		BaseRunID: a.BaseRunID, Overall: a.Overall, Trials: a.Ledger.Trials,
		Tests: append([]bundle.TestVerdict{}, a.Tests...),
	}
	for i := range found.Tests {
		t := &found.Tests[i]
		switch {
		case !t.Warns():
			t.Reason = ""
		case t.Reason != "" && !reasonForm.MatchString(t.Reason):
			return invalid(AttackName, "the reason of %s is not small letters, digits, _ and .", t.ID)
		}
	}
	failed := int64(len(found.Failed()))
	f := rep.Falsification
	switch {
	case !slices.Contains(overalls, a.Overall):
		return invalid(AttackName, "its overall verdict is none of %v", overalls)
	case (a.Overall == "fail") != (failed > 0):
		return invalid(AttackName, "its overall verdict is not the one of its tests")
	case f == nil || f.Overall != a.Overall || f.BaseRunID != a.BaseRunID:
		return invalid(AttackName, "it is not the falsification of %s", ReportName)
	case rep.GatesFailed != nil && (a.Overall == inconclusive || *rep.GatesFailed != failed):
		return invalid(ReportName, "its gates_failed is not that of %s", AttackName)
	case a.Ledger.Trials < 0:
		return invalid(AttackName, "its number of trials is below 0")
	}
	r.Summary = map[string]float64{}
	if a.Overall != inconclusive {
		r.Summary["gates_failed"] = float64(failed)
	}
	r.BaseRequestHash = a.BaseRequestHash
	r.Falsification = found
	return r.derive(rep, &a, files)
}

// defined is the metrics that are numbers: null is left out.
func defined(values map[string]*float64) map[string]float64 {
	out := map[string]float64{}
	for name, v := range values {
		if v != nil {
			out[name] = *v
		}
	}
	return out
}

// ParseMetadata reads metadata.json.
func ParseMetadata(text []byte) (*Metadata, error) {
	m := &Metadata{}
	if err := jsonv2.Unmarshal(text, m); err != nil {
		return nil, invalid(MetadataName, "it cannot be read as what a host writes")
	}
	if m.Schema != metadataSchema {
		return nil, invalid(MetadataName, "its schema is not %s", metadataSchema)
	}
	return m, nil
}

// SameProgram reports whether the run is of the plugin, parameters and markets of a strategy.
func (m *Metadata) SameProgram(s *bundle.Strategy) bool {
	return m.Plugin.SHA256 == s.Plugin.SHA256 && sameJSON(m.Params, s.Params) &&
		slices.Equal(m.Symbols, s.Symbols) && slices.Contains(s.Timeframes, m.Timeframe)
}

func sameJSON(a, b []byte) bool {
	x, err := digest.CanonicalJSON(a)
	if err != nil {
		return false
	}
	y, err := digest.CanonicalJSON(b)
	return err == nil && slices.Equal(x, y)
}
