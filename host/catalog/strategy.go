package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/host/proc/sandbox"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Status reports whether a strategy can be used.
type Status string

// The states of a strategy in the list.
const (
	Available   Status = "available"
	Unavailable Status = "unavailable"
)

// Strategy is one entry of the list. Its JSON is the one of /strategies. It is
// read-only: the catalogue hands out the same slices to everybody.
type Strategy struct {
	Name            string   `json:"name"` // the file's name if unavailable
	DisplayName     string   `json:"display_name"`
	Version         string   `json:"version"`
	Description     string   `json:"description"`
	Author          string   `json:"author"`
	Language        string   `json:"language"`
	SDKVersion      string   `json:"sdk_version"`
	ProtocolVersion int      `json:"protocol_version"`
	SimID           string   `json:"sim_id"`
	SHA256          string   `json:"sha256"` // of the program; "" under a debugger
	Modes           []string `json:"modes"`
	Timeframes      []string `json:"timeframes"` // null: every one
	SymbolCount
	Declared
	ParamsSchema  json.RawMessage `json:"params_schema"`
	DefaultParams json.RawMessage `json:"default_params"`
	Status        Status          `json:"status"`
	Error         *proc.Fault     `json:"error"`
	// Sandbox is what closes its processes in.
	Sandbox sandbox.Walls `json:"sandbox"`

	origin
}

// Bounds of what a strategy says of how it differs.
const (
	maxDiffers     = 20
	maxDiffersText = 300
)

// Differs are sentences about how the strategy differs from the one of another engine that it was adopted
// from: x-differs of its params_schema.
func (s *Strategy) Differs() []string {
	var declared struct {
		Differs []string `json:"x-differs"`
	}
	if json.Unmarshal(s.ParamsSchema, &declared) != nil {
		return nil
	}
	var out []string
	for _, text := range declared.Differs[:min(len(declared.Differs), maxDiffers)] {
		if clean := strings.Join(strings.Fields(text), " "); clean != "" && len(clean) <= maxDiffersText {
			out = append(out, clean)
		}
	}
	return out
}

// SymbolCount is how many symbols a strategy trades.
type SymbolCount struct {
	MinSymbols int `json:"min_symbols"`
	MaxSymbols int `json:"max_symbols"`
}

// Declared is what a strategy says of itself that its results are judged by, and shown by.
type Declared struct {
	Supports Supports `json:"supports"`
	// TrainedUntil is the last day, or the end, of the data that it was made with; "" where it
	// declares none.
	TrainedUntil string `json:"trained_until"`
	// Plots say how charts draw what it publishes; null: as lines over the candles.
	Plots []sdk.Plot `json:"plots"`
	// Extra are the larger timeframes that it reads.
	Extra []market.Timeframe `json:"extra,omitempty"`
	// Inputs are the series beside the candles that it reads.
	Inputs []sdk.Input `json:"-"`
	// ShownInputs are Inputs in JSON.
	ShownInputs []ShownInput `json:"inputs,omitempty"`
	// Signals reports whether it can give the intents of all steps at once.
	Signals bool `json:"-"`
	// Sessions reports whether its process can serve one run after another.
	Sessions bool `json:"-"`
	// Advance reports whether it can play many steps by itself.
	Advance bool `json:"-"`
}

// ShownInput is a series beside the candles; its age is null where any will do.
type ShownInput struct {
	Name   string   `json:"name"`
	MaxAge *float64 `json:"max_age_seconds"`
}

func showInputs(inputs []sdk.Input) []ShownInput {
	out := make([]ShownInput, len(inputs))
	for i, in := range inputs {
		out[i].Name = in.Name
		if seconds := in.MaxAge.Seconds(); seconds > 0 {
			out[i].MaxAge = &seconds
		}
	}
	return out
}

// origin is where a strategy comes from.
type origin struct {
	// File is the name in the strategies folder; "" under a debugger.
	File string `json:"-"`
	// Debug marks a strategy that runs under a debugger. Its runs can never become
	// a candidate.
	Debug bool `json:"-"`

	schema   *jsonschema.Schema // of its parameters
	program  proc.Program
	reattach *reattachment
}

// Supports is what a strategy can cope with.
type Supports struct {
	Short       bool `json:"short"`
	MultiSymbol bool `json:"multi_symbol"`
	ScaleFree   bool `json:"scale_free"`
	// Calendar is weekday, date, both or empty: what it reads off the date of a candle.
	Calendar string `json:"calendar"`
}

// Program describes the strategy's file; empty under a debugger.
func (s *Strategy) Program() proc.Program { return s.program }

// Remote reports whether the strategy runs under a debugger which is reached over the network:
// it may be on another machine, where the host's files are not.
func (s *Strategy) Remote() bool { return s.reattach != nil && s.reattach.Addr.Network == "tcp" }

// SupportsMode reports whether the strategy may run in backtest, paper or live.
func (s *Strategy) SupportsMode(mode string) bool { return slices.Contains(s.Modes, mode) }

// SupportsTimeframe reports whether the strategy works on the timeframe, such as 1h.
func (s *Strategy) SupportsTimeframe(timeframe string) bool {
	return s.Timeframes == nil || slices.Contains(s.Timeframes, timeframe)
}

// unavailable returns the entry of a file or a debugged strategy that cannot be used.
func unavailable(name string, fault *proc.Fault) Strategy {
	empty := json.RawMessage("{}")
	return Strategy{
		Name: name, DisplayName: name, Modes: []string{}, ParamsSchema: empty, DefaultParams: empty,
		Status: Unavailable, Error: fault,
	}
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// ValidName reports whether a strategy may have the name: ^[a-z][a-z0-9_-]{0,62}$.
func ValidName(name string) bool { return nameForm.MatchString(name) }

// sameKey makes names equal that differ only in - and _.
func sameKey(name string) string { return strings.ReplaceAll(name, "_", "-") }

// describe turns what a plugin said about itself into its entry, or finds what is
// wrong with it.
func describe(spec *strategypb.Spec) (Strategy, *proc.Fault) {
	s := Strategy{
		Name: spec.GetName(), DisplayName: spec.GetDisplayName(), Version: spec.GetVersion(),
		Description: spec.GetDescription(), Author: spec.GetAuthor(), Language: spec.GetLanguage(),
		SDKVersion: spec.GetSdkVersion(), ProtocolVersion: int(spec.GetProtocolVersion()),
		SimID: spec.GetSimId(),
		Modes: spec.GetModes(), Timeframes: spec.GetTimeframes(),
		SymbolCount: SymbolCount{max(1, int(spec.GetMinSymbols())), int(spec.GetMaxSymbols())},
		Declared: Declared{
			Supports: Supports{
				Short:       spec.GetSupports().GetShort(),
				MultiSymbol: spec.GetSupports().GetMultiSymbol(),
				ScaleFree:   spec.GetSupports().GetScaleFree(),
				Calendar:    spec.GetSupports().GetCalendar(),
			},
			TrainedUntil: spec.GetTrainedUntil(),
			Plots:        wire.PlotsFromProto(spec.GetPlots()),
			Signals:      spec.GetSignals(),
			Sessions:     spec.GetSessions(),
			Advance:      spec.GetAdvance(),
		},
		Status: Available,
	}
	if fault := s.complete(); fault != nil {
		return s, fault
	}
	var err error
	if s.Extra, err = wire.ExtraFromProto(spec); err != nil {
		return s, proc.Faultf(CodeBadSpec, "%.200s", err.Error())
	}
	if s.Inputs, err = wire.InputsFromProto(spec); err != nil {
		return s, proc.Faultf(CodeBadSpec, "%.200s", err.Error())
	}
	s.ShownInputs = showInputs(s.Inputs)
	params, fault := compileParams(spec.GetParamsSchema(), spec.GetDefaultParams())
	if fault != nil {
		return s, fault
	}
	if err := sdk.CheckPlots(s.Plots, params.defaults); err != nil {
		return s, proc.Faultf(CodeBadSpec, "%.300s", err.Error())
	}
	s.schema, s.ParamsSchema, s.DefaultParams = params.schema, params.raw, params.defaults
	return s, nil
}

// complete fills in what a plugin may leave out and checks the rest.
func (s *Strategy) complete() *proc.Fault {
	if !ValidName(s.Name) {
		return proc.Faultf(CodeBadName, "the name %.80q is not ^[a-z][a-z0-9_-]{0,62}$", s.Name)
	}
	s.ProtocolVersion = cmp.Or(s.ProtocolVersion, wire.ProtocolVersion)
	if s.ProtocolVersion != wire.ProtocolVersion {
		return proc.Faultf(proc.CodeWrongProtocol,
			"the strategy says protocol %d, the host speaks %d: build it with the host's SDK",
			s.ProtocolVersion, wire.ProtocolVersion)
	}
	s.DisplayName, s.Version = cmp.Or(s.DisplayName, s.Name), cmp.Or(s.Version, "0.0.0")
	if len(s.Modes) == 0 {
		s.Modes = []string{"backtest", "paper", "live"}
	}
	if len(s.Timeframes) == 0 {
		s.Timeframes = nil
	}
	s.MaxSymbols = cmp.Or(s.MaxSymbols, s.MinSymbols)
	return s.checkSpec()
}

// maxText bounds every text of a description; the longest is shown as a paragraph.
const maxText = 4096

func (s *Strategy) checkSpec() *proc.Fault {
	for _, m := range s.Modes {
		if m != "backtest" && m != "paper" && m != "live" {
			return proc.Faultf(CodeBadSpec, "modes: %.40q is none of backtest, paper, live", m)
		}
	}
	for _, t := range s.Timeframes {
		if _, err := market.ParseTimeframe(t); err != nil {
			return proc.Faultf(CodeBadSpec, "timeframes: %.200s", err.Error())
		}
	}
	if !sdk.Calendar(s.Supports.Calendar).Valid() {
		return proc.Faultf(CodeBadSpec, "supports.calendar: %.40q is none of weekday, date, both",
			s.Supports.Calendar)
	}
	if _, err := market.ParseEnd(s.TrainedUntil); s.TrainedUntil != "" && err != nil {
		return proc.Faultf(CodeBadSpec, "trained_until: %.200s", err.Error())
	}
	if s.MaxSymbols < s.MinSymbols {
		return proc.Faultf(CodeBadSpec, "max_symbols is %d, below min_symbols %d", s.MaxSymbols, s.MinSymbols)
	}
	for _, text := range []string{s.DisplayName, s.Version, s.Description, s.Author, s.Language, s.SDKVersion,
		s.SimID} {
		if len(text) > maxText {
			return proc.Faultf(CodeBadSpec, "a text of the description has %d bytes, more than %d", len(text),
				maxText)
		}
	}
	return nil
}

// The codes of strategies that are not available, beside those of package proc.
const (
	CodeBadName        = "BAD_NAME"
	CodeDuplicateName  = "DUPLICATE_NAME"
	CodeBadSpec        = "BAD_SPEC"
	CodeBadSchema      = "BAD_SCHEMA"
	CodeReattachFailed = "REATTACH_FAILED"
)

// Reason is one code with its meaning.
type Reason struct{ Code, Meaning string }

// Reasons returns the closed set of codes, for documentation.
func Reasons() []Reason {
	return []Reason{
		{proc.CodeUnreadable,
			"the file cannot be read or copied, or its copy in the state folder was changed"},
		{proc.CodeNotExecutable, "the file is no program that this machine can execute; scripts are none"},
		{proc.CodeWrongHandshake, "the program does not answer as an Assay strategy does"},
		{proc.CodeWrongProtocol, "the strategy speaks a version of the protocol that this host does not"},
		{CodeBadName, "the strategy's name is not ^[a-z][a-z0-9_-]{0,62}$"},
		{CodeDuplicateName, "another file already provides this name (- and _ count as equal)"},
		{CodeBadSpec, "the strategy describes itself with impossible values"},
		{CodeBadSchema, "params_schema is no JSON Schema, or default_params do not fit it"},
		{proc.CodeStartTimeout, "the program did not answer in time"},
		{proc.CodeStartCrashed, "the program ended before it answered"},
		{proc.CodeSandboxUnavailable, "the sandbox is required and this machine cannot provide it"},
		{CodeReattachFailed, "the strategy under a debugger cannot be reached"},
	}
}

// NotFoundError reports that no strategy has the name.
type NotFoundError struct {
	Name      string
	Available []string // names that can be used, sorted
}

// Error returns the message.
func (e *NotFoundError) Error() string {
	if len(e.Available) == 0 {
		return fmt.Sprintf("there is no strategy %q: the catalogue is empty", e.Name)
	}
	return fmt.Sprintf("there is no strategy %q; available: %s", e.Name, strings.Join(e.Available, ", "))
}

// UnavailableError reports that the strategy is listed but cannot be used.
type UnavailableError struct {
	Name  string
	Fault proc.Fault
}

// Error returns the message.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("strategy %q is unavailable: %s: %s", e.Name, e.Fault.Code, e.Fault.Message)
}

// LaunchError reports that a strategy's process could not be brought to answer.
type LaunchError struct {
	Strategy string
	Code     string // one of Reasons
	Message  string
	LogTail  []string // the end of what the process said
}

// Error returns the message.
func (e *LaunchError) Error() string {
	return fmt.Sprintf("start strategy %q: %s: %s", e.Strategy, e.Code, e.Message)
}
