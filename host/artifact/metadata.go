package artifact

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const metadataSchema = "run-metadata/v1"

// Metadata is metadata.json and the payload of a registry row: run-metadata/v1.
type Metadata struct {
	Schema                 string          `json:"schema"`
	RunID                  string          `json:"run_id"`
	RequestHash            string          `json:"request_hash"`
	ResultHash             *string         `json:"result_hash"`
	DecisionHash           *string         `json:"decision_hash"`
	Kind                   string          `json:"kind"`
	Slug                   string          `json:"slug"`
	FamilyID               string          `json:"family_id"`
	PlanID                 *string         `json:"plan_id"`
	TrialIndex             *int64          `json:"trial_index"`
	TrialKey               string          `json:"trial_key"`
	Status                 string          `json:"status"`
	Attempt                int             `json:"attempt"`
	PostPeek               bool            `json:"post_peek"`
	Deviation              bool            `json:"deviation"`
	Debug                  bool            `json:"debug"`
	ValidationContaminated bool            `json:"validation_contaminated"`
	Params                 json.RawMessage `json:"params"`
	Symbols                []string        `json:"symbols"`
	Timeframe              string          `json:"timeframe"`
	Exchange               string          `json:"exchange"`
	StartDate              market.Time     `json:"start_date"`
	EndDate                market.Time     `json:"end_date"`
	Seed                   string          `json:"seed"`
	Data                   []Dataset       `json:"data"`
	Inputs                 []Dataset       `json:"inputs,omitempty"`
	Plugin                 Plugin          `json:"plugin"`
	Engine                 Engine          `json:"engine"`
	SplitsSHA256           string          `json:"splits_sha256"`
	Execution              json.RawMessage `json:"execution"`
	Summary                Summary         `json:"summary"`
	Splits                 []SplitSummary  `json:"splits"`
	Verdict                *string         `json:"verdict"`
	Failure                *FailureNote    `json:"failure"`
	Service                *ServiceNote    `json:"service,omitempty"`
	Imported               *Imported       `json:"imported,omitempty"`
	// ArtifactLevel is full, or compact for trials.
	ArtifactLevel string   `json:"artifact_level"`
	Artifacts     []File   `json:"artifacts"`
	Volatile      Volatile `json:"volatile"`
}

// File is one file of a run.
type File struct {
	Name      string `json:"name"`
	SHA256    string `json:"sha256"`
	Size      int64  `json:"size"`
	MediaType string `json:"media_type"`
}

// Volatile is what differs between two runs of one request.
type Volatile struct {
	StartedAt   market.Time `json:"started_at"`
	CompletedAt market.Time `json:"completed_at"`
	DurationMS  int64       `json:"duration_ms"`
	Origin      string      `json:"origin"`
	Environment Environment `json:"environment"`
}

// Headline has the five numbers that runs are listed with; null when undefined.
type Headline struct {
	SharpeRatio *float64 `json:"sharpe_ratio"`
	MaxDrawdown *float64 `json:"max_drawdown"`
	TotalReturn *float64 `json:"total_return"`
	TotalTrades *float64 `json:"total_trades"`
	WinRate     *float64 `json:"win_rate"`
}

// Summary is a headline with what the report counts.
type Summary struct {
	Headline
	// StressFailed and GatesFailed are those of the report.
	StressFailed *int64 `json:"stress_failed,omitempty"`
	GatesFailed  *int64 `json:"gates_failed,omitempty"`
}

// SplitSummary is the summary of one split.
type SplitSummary struct {
	ID      string  `json:"split_id"`
	Kind    string  `json:"kind"`
	Metrics Summary `json:"metrics"`
}

// FailureNote is a Failure whose message is shown.
type FailureNote struct {
	Failure
	Message string `json:"message"`
}

// Fail makes m the row of a failed run.
func (m *Metadata) Fail(f *Failure, at time.Time) {
	m.Status, m.Failure = StatusFailed, &FailureNote{Failure: *f, Message: f.Message}
	m.Volatile.CompletedAt = market.FromTime(at)
	m.Volatile.DurationMS = max(int64(m.Volatile.CompletedAt-m.Volatile.StartedAt), 0)
}

// Begun returns the metadata of a run that has just begun: its row until it has ended.
// The run's Manifest must be complete.
func Begun(run *Run) (*Metadata, error) {
	begun := *run
	begun.Status, begun.Splits, begun.CompletedAt = StatusRunning, nil, time.Time{}
	return newMetadata(&begun, nil, nil)
}

// newMetadata returns the metadata without files. The report is nil before the end.
func newMetadata(run *Run, rep *Report, files []File) (*Metadata, error) {
	man, req := &run.Manifest, &run.Manifest.Request
	m := &Metadata{
		Schema: metadataSchema, RunID: run.ID, Kind: req.Kind, Slug: man.Strategy.Slug,
		FamilyID: req.FamilyID,
		Status:   run.Status, Attempt: max(run.Attempt, 1), Debug: man.Debug, Params: req.StrategyParams,
		Symbols:   req.Symbols,
		Timeframe: req.Timeframe, Exchange: req.Exchange, StartDate: req.StartDate, EndDate: req.EndDate,
		Seed: req.Seed,
		Data: man.Data, Inputs: man.Inputs,
		Plugin: man.Plugin, Engine: man.Engine, SplitsSHA256: req.Splits.SHA256,
		Execution: req.Execution,
		Splits:    []SplitSummary{}, Service: run.Service, Imported: man.Imported, ArtifactLevel: run.level(),
		Artifacts: append([]File{}, files...),
		Volatile: Volatile{StartedAt: market.FromTime(run.StartedAt), Origin: run.Origin,
			Environment: run.Environment},
	}
	m.Volatile.Environment.Sandbox = cmp.Or(man.Sandbox, m.Volatile.Environment.Sandbox)
	if man.ConnectorSandbox != "" {
		m.Volatile.Environment.ConnectorSandbox = man.ConnectorSandbox
	}
	if man.Walls != nil {
		m.Volatile.Environment.SandboxParts = man.Walls
	}
	var err error
	if m.RequestHash, err = req.Hash(); err != nil {
		return nil, err
	}
	if m.TrialKey, err = req.TrialKey(); err != nil {
		return nil, err
	}
	if !run.CompletedAt.IsZero() {
		m.Volatile.CompletedAt = market.FromTime(run.CompletedAt)
		m.Volatile.DurationMS = run.CompletedAt.Sub(run.StartedAt).Milliseconds()
	}
	if run.Failure != nil {
		m.Fail(run.Failure, run.CompletedAt)
	}
	if rep != nil {
		m.ResultHash, m.DecisionHash = &rep.ResultHash, &rep.DecisionHash
		m.summarise(rep)
	}
	if e := run.Evaluation; e != nil {
		m.PlanID, m.TrialIndex, m.Deviation, m.PostPeek, m.ValidationContaminated = e.PlanID, e.TrialIndex,
			e.Deviation, e.PostPeek, e.Contaminated
		if e.Verdict != "" {
			m.Verdict = &e.Verdict
		}
	}
	return m, nil
}

// summarise takes the five numbers of each split that is not locked, and of the
// whole: the stitched walk-forward, or the only split.
func (m *Metadata) summarise(rep *Report) {
	for _, s := range rep.Splits {
		if s.locked {
			continue
		}
		m.Splits = append(m.Splits, SplitSummary{ID: s.ID, Kind: s.Role, Metrics: summarise(s.Metrics)})
		if s.ID == FullSplitID {
			m.Summary = summarise(s.Metrics)
		}
	}
	if rep.WalkForward != nil {
		m.Summary = summarise(rep.WalkForward.Metrics)
	}
	m.Summary.StressFailed, m.Summary.GatesFailed = rep.StressFailed, rep.GatesFailed
}

func summarise(v metric.Values) Summary {
	get := func(key string) *float64 {
		if x, defined := v.Get(key); defined {
			return &x
		}
		return nil
	}
	return Summary{Headline: Headline{
		SharpeRatio: get("sharpe_ratio"), MaxDrawdown: get("max_drawdown"), TotalReturn: get("total_return"),
		TotalTrades: get("total_trades"), WinRate: get("win_rate"),
	}}
}

// executionSemantics returns the profile of the execution options.
func executionSemantics(execution json.RawMessage) string {
	var o struct {
		Profile string `json:"profile"`
	}
	_ = json.Unmarshal(execution, &o) // the request has been checked
	return cmp.Or(o.Profile, "bar-v1")
}

// Encode returns the metadata as it is stored: indented, ended by a newline.
func (m *Metadata) Encode() ([]byte, error) { return encode(m) }

// DecodeMetadata reads what Encode has written. Unknown fields are allowed: a newer
// program may have written them.
func DecodeMetadata(text []byte) (*Metadata, error) {
	if _, err := digest.CanonicalJSON(text); err != nil {
		return nil, err
	}
	m := &Metadata{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	switch {
	case m.Schema != metadataSchema:
		return nil, fmt.Errorf("metadata: schema %q is not %s", m.Schema, metadataSchema)
	case m.RunID == "" || m.RequestHash == "":
		return nil, fmt.Errorf("metadata: run_id and request_hash are needed")
	}
	return m, nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// MismatchError names what in a folder differs from its metadata.json.
type MismatchError struct {
	RunID string
	// Problems name each file and what is wrong with it.
	Problems []string
}

// Error lists the problems.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("the artifacts of run %s have changed: %s", e.RunID, strings.Join(e.Problems, "; "))
}

// Verify hashes every file of a run's folder again. It returns the metadata with its
// bytes; a *MismatchError when a file is missing, changed or not listed, or when
// metadata.json is not what Encode writes; fs.ErrNotExist when there is none, and another
// error when the folder cannot be read.
func Verify(dir string) (*Metadata, []byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	info, err := root.Lstat(metadataName)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil,
			&MismatchError{RunID: filepath.Base(dir),
				Problems: []string{metadataName + " is not a plain file"}}
	}
	payload, err := root.ReadFile(metadataName)
	if err != nil {
		return nil, nil, err
	}
	m, err := DecodeMetadata(payload)
	if err != nil {
		return nil, nil,
			&MismatchError{RunID: filepath.Base(dir),
				Problems: []string{metadataName + " is damaged: " + err.Error()}}
	}
	found, err := listFiles(root)
	if err != nil {
		return nil, nil, err
	}
	if problems := m.compare(root, found); len(problems) > 0 {
		return nil, nil, &MismatchError{RunID: m.RunID, Problems: problems}
	}
	return m, payload, nil
}

func (m *Metadata) compare(root *os.Root, found []string) []string {
	var problems []string
	listed := map[string]bool{}
	for _, want := range m.Artifacts {
		listed[want.Name] = true
		if !fs.ValidPath(want.Name) {
			problems = append(problems, fmt.Sprintf("%q is not a path inside the folder", want.Name))
			continue
		}
		hash, size, err := hashFile(root, want.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			problems = append(problems, want.Name+" is missing")
		case err != nil:
			problems = append(problems, want.Name+": "+err.Error())
		case size != want.Size || hash != want.SHA256:
			problems = append(problems, want.Name+" has other content")
		case want.Name == requestName && hash != m.RequestHash:
			problems = append(problems, requestName+" is not the request of request_hash")
		}
	}
	if !listed[requestName] {
		problems = append(problems, requestName+" is not listed")
	}
	for _, name := range found {
		if !listed[name] && name != metadataName && !strings.HasPrefix(name, capsulesDir+"/") {
			problems = append(problems, name+" is not listed")
		}
	}
	slices.Sort(problems)
	return problems
}

func listFiles(root *os.Root) ([]string, error) {
	var names []string
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path.Clean(name))
		}
		return err
	})
	return names, err
}

func hashFile(root *os.Root, name string) (string, int64, error) {
	f, _, err := openPlain(root, name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// openPlain opens a regular file below a root, and gives its size in bytes.
func openPlain(root *os.Root, name string) (*os.File, int64, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errors.New("is not a plain file")
	}
	f, err := root.Open(name)
	return f, info.Size(), err
}
