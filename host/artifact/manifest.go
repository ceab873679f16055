package artifact

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/sys/cpu"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Manifest says what is run and with which exact inputs. It is fixed before the
// first candle.
type Manifest struct {
	// Request is the question. Schema, Splits, Inputs and what is empty of Kind, FamilyID,
	// Seed and StrategyName follow from the rest of the Manifest, see Complete.
	Request  Request
	Splits   Splits
	Strategy Strategy
	Plugin   Plugin
	Engine   Engine
	Data     []Dataset
	// Sandbox is the level that the plugin runs under, Debug that somebody attached it by hand.
	Sandbox string
	// Walls are the parts of the sandbox, present or with the reason.
	Walls []sandbox.Part
	// ConnectorSandbox is the level of the connector's processes; "" where there were none.
	ConnectorSandbox string
	Debug            bool
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
}

// HostEnvironment is the one of this process.
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
	return strings.ToLower(strings.Join([]string{exchange, s.Base(), s.Quote(), timeframe, sha256[:min(12, len(sha256))]}, "-"))
}

// FamilyID is the family of a strategy that names none: its name with - for _.
func FamilyID(strategy string) string { return strings.ReplaceAll(strategy, "_", "-") }

// Complete is the Manifest with its Request filled in and the raw parts checked. It
// shares no slices with the original.
func (m Manifest) Complete() (Manifest, error) {
	splits, err := m.Splits.Canonical()
	if err != nil {
		return m, fmt.Errorf("splits: %w", err)
	}
	r := &m.Request
	r.Schema = "evaluation-request/v1"
	r.Kind = cmp.Or(r.Kind, KindService)
	r.StrategyName = cmp.Or(r.StrategyName, m.Strategy.Name)
	r.FamilyID = cmp.Or(r.FamilyID, FamilyID(r.StrategyName))
	r.Seed = cmp.Or(r.Seed, "1")
	r.Splits.Scheme, r.Splits.SHA256 = m.Splits.Scheme, digest.SHA256Hex(splits)
	r.Stress, r.Symbols = append([]string{}, r.Stress...), append([]string{}, r.Symbols...)
	m.Strategy.Name = cmp.Or(m.Strategy.Name, r.StrategyName)
	m.Strategy.Slug = cmp.Or(m.Strategy.Slug, r.StrategyName)
	m.Data = append([]Dataset{}, m.Data...)
	r.Inputs = Inputs{
		Data: []DataRef{}, PluginSHA256: m.Plugin.SHA256, Engine: engineRef(m.Engine.SHA256), ProtocolVersion: m.Plugin.ProtocolVersion,
	}
	for i := range m.Data {
		d := &m.Data[i]
		d.ID = cmp.Or(d.ID, DatasetID(r.Exchange, d.Symbol, d.Timeframe, d.SHA256))
		r.Inputs.Data = append(r.Inputs.Data, DataRef{d.Symbol, d.Timeframe, d.SHA256, int64(d.Start), int64(d.End)})
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
			return &digest.JSONError{Pointer: "/" + part.name, Reason: fmt.Sprintf("%.40s is of the wrong type", c)}
		}
		*part.raw = slices.Clip(c)
	}
	return nil
}

// inField puts the pointer of a part in front of where its JSON is wrong.
func inField(pointer string, err error) error {
	var bad *digest.JSONError
	if errors.As(err, &bad) {
		return &digest.JSONError{Pointer: pointer + bad.Pointer, Reason: bad.Reason}
	}
	return fmt.Errorf("%s: %w", pointer, err)
}
