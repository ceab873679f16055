package artifact

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/sys/cpu"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The kinds of request.
const (
	KindRun           = "run"
	KindTrial         = "trial"
	KindFalsification = "falsification"
	KindService       = "service"
	// KindImported is of the results of another engine: nothing was played, nothing is proved.
	KindImported = "imported"
)

// StatisticsVersion names the statistical conventions of requests and reports.
const StatisticsVersion = "lab-stats/2"

// Request is what an evaluation is asked, every default filled in: evaluation-request/v1. Equal
// requests have equal hashes, whatever the order of keys and spelling of numbers in
// the raw parts.
type Request struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"`
	// Mode is paper or live for such runs of the service, else empty.
	Mode           string          `json:"mode,omitempty"`
	FamilyID       string          `json:"family_id"`
	StrategyName   string          `json:"strategy_name"`
	StrategyParams json.RawMessage `json:"strategy_params"`
	Symbols        []string        `json:"symbols"`
	Timeframe      string          `json:"timeframe"`
	Exchange       string          `json:"exchange"`
	StartDate      market.Time     `json:"start_date"`
	EndDate        market.Time     `json:"end_date"`
	InitialCash    json.RawMessage `json:"initial_cash"` // a JSON number
	// Seed is a decimal number as text.
	Seed      string          `json:"seed"`
	Execution json.RawMessage `json:"execution"`
	Splits    SplitsRef       `json:"splits"`
	Stress    []string        `json:"stress"`
	Inputs    Inputs          `json:"inputs"`
	// Falsification is what a falsification depends on besides; null for other kinds.
	Falsification json.RawMessage `json:"falsification"`
	// TrainedUntil is the end of the data that the program was made with, absent where neither it
	// nor its lab.json declares one. What is on earlier candles is no evidence.
	TrainedUntil *market.Time `json:"trained_until,omitempty"`
	// Imported is where the results of another engine come from, without the names of the files; nil
	// for runs of this one.
	Imported *Imported `json:"imported,omitempty"`
}

// Imported names the program and the files that results come from.
type Imported struct {
	Tool string `json:"tool"`
	// Version is of the program, "" where the files do not have it.
	Version string       `json:"version,omitempty"`
	Files   []ImportFile `json:"files"`
}

// ImportFile is a file of results. The name is absent from requests: it changes nothing.
type ImportFile struct {
	Name   string `json:"name,omitempty"`
	SHA256 string `json:"sha256"`
}

// unnamed is i without the names of the files.
func (i *Imported) unnamed() *Imported {
	if i == nil {
		return nil
	}
	out := &Imported{Tool: i.Tool, Version: i.Version}
	for _, f := range i.Files {
		out.Files = append(out.Files, ImportFile{SHA256: f.SHA256})
	}
	return out
}

// Trained are the splits that begin before the end of the training data, by their ids.
func (r *Request) Trained(splits []SplitRange) []string {
	var out []string
	for _, s := range splits {
		if r.TrainedUntil != nil && s.TSFrom < *r.TrainedUntil {
			out = append(out, s.ID)
		}
	}
	return out
}

// SplitsRef pins the splits of a request.
type SplitsRef struct {
	Scheme string `json:"scheme"`
	Purge  int    `json:"purge"`
	SHA256 string `json:"sha256"`
}

// Inputs are the bytes that an answer depends on.
type Inputs struct {
	Data            []DataRef `json:"data"`
	PluginSHA256    string    `json:"plugin_sha256"`
	Engine          EngineRef `json:"engine"`
	ProtocolVersion int       `json:"protocol_version"`
}

// DataRef is a window of one candle file, in Unix milliseconds, or an input.
type DataRef struct {
	Symbol    string `json:"symbol"`
	Timeframe string `json:"timeframe"`
	SHA256    string `json:"sha256"`
	Start     int64  `json:"start"`
	End       int64  `json:"end"`
}

// EngineRef is the executable and the conventions that it computes by.
type EngineRef struct {
	SHA256     string `json:"sha256"`
	Metrics    string `json:"metrics"`
	Statistics string `json:"statistics"`
}

// Canonical returns the request as canonical JSON: the content of request.json.
func (r *Request) Canonical() ([]byte, error) { return digest.JCS(r) }

// Hash returns the SHA-256 of Canonical in lower-case hex.
func (r *Request) Hash() (string, error) { return digest.Of(r) }

// TrialKey names what is tried, whatever the seed and the engine: runs with equal
// keys are one trial.
func (r *Request) TrialKey() (string, error) {
	return digest.Of(map[string]any{
		"family_id": r.FamilyID, "plugin_sha256": r.Inputs.PluginSHA256, "strategy_params": r.StrategyParams,
		"data": r.Inputs.Data, "timeframe": r.Timeframe, "execution": r.Execution,
	})
}

// FullSplitID is the one split of a run that is not split: all of its window.
const FullSplitID = "full"

// Splits is splits.json: which candles each split covers. Indices count the
// distinct close times of all symbols in the window, from 0.
type Splits struct {
	Schema  string         `json:"schema"`
	Scheme  string         `json:"scheme"`
	Params  map[string]any `json:"params"`
	Candles int            `json:"candles"`
	// TimelineSHA256 is the hash of the close times as big-endian int64 milliseconds.
	TimelineSHA256 string       `json:"timeline_sha256"`
	Splits         []SplitRange `json:"splits"`
}

// SplitRange is the candles [From, To) of one split, with the close times of its
// first and last candle. Train and Test are the halves of a pair, else null.
type SplitRange struct {
	ID     string      `json:"split_id"`
	Role   string      `json:"role"`
	Train  *[2]int     `json:"train"`
	Test   *[2]int     `json:"test"`
	From   int         `json:"from"`
	To     int         `json:"to"`
	TSFrom market.Time `json:"ts_from"`
	TSTo   market.Time `json:"ts_to"`
}

// FullSplit returns the scheme none: one split over all the close times, which ascend.
func FullSplit(closes iter.Seq[market.Time]) Splits {
	h := sha256.New()
	r := SplitRange{ID: FullSplitID, Role: FullSplitID}
	var word [8]byte
	for t := range closes {
		if r.To == 0 {
			r.TSFrom = t
		}
		r.To++
		r.TSTo = t
		binary.BigEndian.PutUint64(word[:], uint64(t))
		h.Write(word[:])
	}
	return Splits{
		Schema: "splits/v1", Scheme: "none", Params: map[string]any{}, Candles: r.To,
		TimelineSHA256: hex.EncodeToString(h.Sum(nil)), Splits: []SplitRange{r},
	}
}

// Canonical returns the content of splits.json.
func (s *Splits) Canonical() ([]byte, error) { return digest.JCS(s) }

// find returns the range of a split; the zero value if there is no such split.
func (s *Splits) find(id string) SplitRange {
	if i := slices.IndexFunc(s.Splits, func(r SplitRange) bool { return r.ID == id }); i >= 0 {
		return s.Splits[i]
	}
	return SplitRange{ID: id}
}

// Manifest is what is run, with its exact inputs. It is fixed before the
// first candle.
type Manifest struct {
	// Request is what is asked. Schema, Splits, Inputs and what is empty of Kind, FamilyID,
	// Seed and StrategyName follow from the rest of the Manifest, see Complete.
	Request  Request
	Splits   Splits
	Strategy Strategy
	Plugin   Plugin
	Engine   Engine
	Data     []Dataset
	// Inputs are the series beside the candles, each by its name after "input:" for a symbol.
	Inputs []Dataset
	// Sandbox is the level that the plugin runs under, Debug that it was attached by hand.
	Sandbox string
	// Walls are the parts of the sandbox, present or with the reason.
	Walls []sandbox.Part
	// ConnectorSandbox is the level of the connector's processes; "" where there were none.
	ConnectorSandbox string
	Debug            bool
	// Imported is set for the results of another engine.
	Imported *Imported
}

// Strategy is the plugin's own idea of its name and version. Slug is the name of its
// project; the strategy's name if empty.
type Strategy struct {
	Name, Version, Slug string
}

// Plugin is the program of the strategy.
type Plugin struct {
	SHA256          string `json:"sha256"`
	Size            int64  `json:"size"`
	OS              string `json:"os"`
	Arch            string `json:"arch"`
	ProtocolVersion int    `json:"protocol_version"`
	SDKVersion      string `json:"sdk_version"`
	GoVersion       string `json:"go_version"`
	SourceSHA256    string `json:"source_sha256"`
	// SDKSHA256 is of the SDK inside the strategy's folder, "" where it was elsewhere.
	SDKSHA256 string `json:"sdk_sha256,omitempty"`
}

// Engine is the program that evaluates.
type Engine struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Commit  string `json:"commit"`
	SHA256  string `json:"sha256"`
}

// Dataset is a candle file and the window [Start, End] of it that is used.
type Dataset struct {
	Symbol    string      `json:"symbol"`
	Timeframe string      `json:"timeframe"`
	SHA256    string      `json:"sha256"`
	Rows      int64       `json:"rows"`
	Start     market.Time `json:"start"`
	End       market.Time `json:"end"`
	// ID is made from the rest if it is empty.
	ID string `json:"dataset_id"`
}

// Environment is the machine and the build that made a run.
type Environment struct {
	GOOS       string `json:"goos"`
	GOARCH     string `json:"goarch"`
	GOAMD64    string `json:"goamd64"`
	Go         string `json:"go"`
	CPUFMA     bool   `json:"cpu_fma"`
	CPUAVX2    bool   `json:"cpu_avx2"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	Sandbox    string `json:"sandbox"`
	// SandboxParts are the parts of the sandbox; of one that is missing, why. Nil without a
	// sandbox and in what older versions wrote.
	SandboxParts []sandbox.Part `json:"sandbox_parts,omitempty"`
	// ConnectorSandbox is the weakest level of a live or paper run's connector.
	ConnectorSandbox string `json:"connector_sandbox,omitempty"`
	// Session reports whether splits were played in a process in which other plays ran before.
	Session bool `json:"session,omitempty"`
}

// HostEnvironment returns the one of this process.
func HostEnvironment() Environment {
	e := Environment{
		GOOS: runtime.GOOS, GOARCH: runtime.GOARCH, Go: runtime.Version(),
		CPUFMA: cpu.X86.HasFMA, CPUAVX2: cpu.X86.HasAVX2, GOMAXPROCS: runtime.GOMAXPROCS(0),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "GOAMD64" {
				e.GOAMD64 = s.Value
			}
		}
	}
	return e
}

// DatasetID is <exchange>-<base>-<quote>-<timeframe>-<12 hex of sha256>, lower case.
func DatasetID(exchange, symbol, timeframe, sha256 string) string {
	s := market.Symbol(symbol)
	return strings.ToLower(
		strings.Join([]string{exchange, s.Base(), s.Quote(), timeframe, sha256[:min(12, len(sha256))]}, "-"))
}

// FamilyID returns the family of a strategy that names none: its name with - for _.
func FamilyID(strategy string) string { return strings.ReplaceAll(strategy, "_", "-") }

// Complete returns the Manifest with its Request filled in and the raw parts checked. It
// shares no slices with the original.
func (m Manifest) Complete() (Manifest, error) {
	splits, err := m.Splits.Canonical()
	if err != nil {
		return m, fmt.Errorf("splits: %w", err)
	}
	r := &m.Request
	r.Schema = "evaluation-request/v1"
	r.Kind = cmp.Or(r.Kind, KindService)
	r.Imported = m.Imported.unnamed()
	r.StrategyName = cmp.Or(r.StrategyName, m.Strategy.Name)
	r.FamilyID = cmp.Or(r.FamilyID, FamilyID(r.StrategyName))
	r.Seed = cmp.Or(r.Seed, "1")
	r.Splits.Scheme, r.Splits.SHA256 = m.Splits.Scheme, digest.SHA256Hex(splits)
	r.Stress, r.Symbols = append([]string{}, r.Stress...), append([]string{}, r.Symbols...)
	m.Strategy.Name = cmp.Or(m.Strategy.Name, r.StrategyName)
	m.Strategy.Slug = cmp.Or(m.Strategy.Slug, r.StrategyName)
	m.Data = append([]Dataset{}, m.Data...)
	r.Inputs = Inputs{
		Data: []DataRef{}, PluginSHA256: m.Plugin.SHA256,
		Engine: EngineRef{SHA256: m.Engine.SHA256, Metrics: metric.Semantics,
			Statistics: StatisticsVersion},
		ProtocolVersion: m.Plugin.ProtocolVersion,
	}
	for i := range m.Data {
		d := &m.Data[i]
		d.ID = cmp.Or(d.ID, DatasetID(r.Exchange, d.Symbol, d.Timeframe, d.SHA256))
		r.Inputs.Data = append(r.Inputs.Data,
			DataRef{d.Symbol, d.Timeframe, d.SHA256, int64(d.Start), int64(d.End)})
	}
	m.Inputs = slices.Clone(m.Inputs)
	for _, d := range m.Inputs {
		r.Inputs.Data = append(r.Inputs.Data, DataRef{d.Symbol, "", d.SHA256, int64(d.Start), int64(d.End)})
	}
	return m, m.normaliseRaw()
}

// normaliseRaw makes the parts that came as text canonical.
func (m *Manifest) normaliseRaw() error {
	r := &m.Request
	for _, part := range []struct {
		name, empty string
		kinds       string // first bytes allowed
		raw         *json.RawMessage
	}{
		{"strategy_params", "{}", "{", &r.StrategyParams},
		{"initial_cash", "", "0123456789", &r.InitialCash},
		{"execution", "{}", "{", &r.Execution},
		{"falsification", "null", "{n", &r.Falsification},
	} {
		if len(*part.raw) == 0 {
			*part.raw = json.RawMessage(part.empty)
		}
		if len(*part.raw) == 0 {
			return &digest.JSONError{Pointer: "/" + part.name, Reason: "is missing"}
		}
		c, err := digest.CanonicalJSON(*part.raw)
		if err != nil {
			return inField("/"+part.name, err)
		}
		if !strings.ContainsRune(part.kinds, rune(c[0])) {
			return &digest.JSONError{Pointer: "/" + part.name,
				Reason: fmt.Sprintf("%.40s is of the wrong type", c)}
		}
		*part.raw = slices.Clip(c)
	}
	return nil
}

// inField puts the pointer of a part in front of where its JSON is wrong.
func inField(pointer string, err error) error {
	if bad, ok := errors.AsType[*digest.JSONError](err); ok {
		return &digest.JSONError{Pointer: pointer + bad.Pointer, Reason: bad.Reason}
	}
	return fmt.Errorf("%s: %w", pointer, err)
}
