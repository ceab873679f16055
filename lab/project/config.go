package project

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/assay-run/assay/host/base/hint"
	"github.com/assay-run/assay/lab/design"
	"github.com/assay-run/assay/lab/split"
)

// FileName is the evaluation file of a strategy's folder.
const FileName = "lab.json"

// Schema is the JSON Schema of lab.json, also written beside it.
//
//go:embed lab.schema.json
var Schema []byte

// maxConfig bounds lab.json.
const maxConfig = 1 << 20

// Config is lab.json, every default filled in.
type Config struct {
	Schema     string `json:"schema"`
	Slug       string `json:"slug"`
	Title      string `json:"title"`
	FamilyID   string `json:"family_id"`
	Hypothesis string `json:"hypothesis"`
	Plugin     struct {
		Build string `json:"build"`
		Path  string `json:"path"`
	} `json:"plugin"`
	Exchange  string   `json:"exchange"`
	Symbols   []string `json:"symbols"`
	Timeframe string   `json:"timeframe"`
	Data      struct {
		Start *string           `json:"start"`
		End   *string           `json:"end"`
		Pins  map[string]string `json:"pins"`
	} `json:"data"`
	InitialCash       json.RawMessage `json:"initial_cash"`
	Execution         json.RawMessage `json:"execution"`
	Splits            split.Scheme    `json:"splits"`
	Stress            []string        `json:"stress"`
	Seed              string          `json:"seed"`
	Params            json.RawMessage `json:"params"`
	MaxHoldingCandles int             `json:"max_holding_candles"`
	// Family is what family plan registers, nil if the file has none.
	Family *Family `json:"-"`
}

// Fault is one bad value of lab.json; Pointer is RFC 6901. Line and Column, from 1, are those of the value, or of the
// object that lacks it; 0 where the fault is of the whole file.
type Fault struct {
	Pointer string `json:"pointer"`
	Message string `json:"message"`
	Line    int    `json:"line,omitzero"`
	Column  int    `json:"column,omitzero"`
}

// ConfigError lists everything that is wrong with a lab.json.
type ConfigError struct {
	File   string
	Faults []Fault
}

// Error names the first fault and how many more there are.
func (e *ConfigError) Error() string {
	first := e.Faults[0]
	text := e.File
	if first.Line > 0 {
		text += fmt.Sprintf(":%d:%d", first.Line, first.Column)
	}
	text += ": "
	if first.Pointer != "" {
		text += first.Pointer + " "
	}
	text += first.Message
	if n := len(e.Faults) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return text
}

// Parse reads a lab.json strictly. The error is a *ConfigError with every fault.
func Parse(file string, text []byte) (*Config, error) {
	fail := func(faults ...Fault) error { return &ConfigError{File: file, Faults: faults} }
	if len(text) > maxConfig {
		return nil, fail(Fault{Message: fmt.Sprintf("has %d bytes, more than %d", len(text), maxConfig)})
	}
	raw := jsontext.Value(bytes.Clone(text))
	if err := raw.Compact(jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)); err != nil {
		return nil, fail(notJSON(text, err))
	}
	// Every fault says where it stands in the text.
	fail = func(faults ...Fault) error {
		for i := range faults {
			faults[i].Line, faults[i].Column = locate(text, faults[i].Pointer)
		}
		return &ConfigError{File: file, Faults: faults}
	}
	faults, err := violations(raw)
	if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return nil, fail(faults...)
	}
	c := &Config{InitialCash: json.RawMessage("10000"), Seed: "1", MaxHoldingCandles: 1, Stress: []string{"cost_x2", "delay_1"}}
	c.Splits.Scheme, c.Plugin.Build = split.Default, "go"
	whole := struct {
		*Config
		Family json.RawMessage `json:"family"`
	}{Config: c}
	if err := json.Unmarshal(raw, &whole); err != nil {
		return nil, fail(Fault{Message: err.Error()})
	}
	if c.Plugin.Path != "" {
		c.Plugin.Build = ""
	}
	c.fill()
	if faults := c.check(whole.Family); len(faults) > 0 {
		return nil, fail(faults...)
	}
	return c, nil
}

func (c *Config) fill() {
	if c.FamilyID == "" {
		c.FamilyID = strings.ReplaceAll(c.Slug, "_", "-")
	}
	if c.Title == "" {
		c.Title = c.Slug
	}
	if len(c.Params) == 0 {
		c.Params = json.RawMessage("{}")
	}
	if len(c.Execution) == 0 {
		c.Execution = json.RawMessage("{}")
	}
}

// check is what the schema cannot say. It reads the family block.
func (c *Config) check(family json.RawMessage) []Fault {
	var faults []Fault
	if len(family) > 0 {
		var err error
		if c.Family, err = ParseFamily(family); err != nil {
			faults = append(faults, familyFaults(err)...)
		}
	}
	if _, err := strconv.ParseUint(c.Seed, 10, 64); err != nil {
		faults = append(faults, Fault{Pointer: "/seed", Message: "must be below 2^64"})
	}
	for symbol := range c.Data.Pins {
		if !slices.Contains(c.Symbols, symbol) {
			faults = append(faults, Fault{Pointer: "/data/pins/" + escape(symbol), Message: "is not one of the symbols"})
		}
	}
	for _, err := range flatten(c.Splits.Validate()) {
		var bad *split.FieldError
		if errors.As(err, &bad) {
			faults = append(faults, Fault{Pointer: "/splits" + bad.Pointer, Message: bad.Message})
		}
	}
	sort.SliceStable(faults, func(i, j int) bool { return faults[i].Pointer < faults[j].Pointer })
	return faults
}

func familyFaults(err error) []Fault {
	list := design.FieldErrors(err)
	if list == nil {
		return []Fault{{Pointer: "/family", Message: err.Error()}}
	}
	out := make([]Fault, len(list))
	for i, f := range list {
		out[i] = Fault{Pointer: "/family" + f.Pointer, Message: f.Message}
	}
	return out
}

func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// violations checks a text against the schema; the error is a broken schema.
func violations(text []byte) ([]Fault, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("lab.schema.json", doc); err != nil {
		return nil, err
	}
	schema, err := compiler.Compile("lab.schema.json")
	if err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return []Fault{{Message: err.Error()}}, nil
	}
	var invalid *jsonschema.ValidationError
	if err := schema.Validate(value); !errors.As(err, &invalid) {
		return nil, err
	}
	var faults []Fault
	collect(invalid, &faults)
	sort.SliceStable(faults, func(i, j int) bool { return faults[i].Pointer < faults[j].Pointer })
	return faults, nil
}

// collect takes the leaves: what stands above them only says that something below is
// wrong. Unknown and missing fields get the pointer that they have or should have.
func collect(e *jsonschema.ValidationError, to *[]Fault) {
	if len(e.Causes) > 0 {
		for _, c := range e.Causes {
			collect(c, to)
		}
		return
	}
	var pointer strings.Builder
	for _, token := range e.InstanceLocation {
		pointer.WriteString("/" + escape(token))
	}
	add := func(pointer, text string) {
		if f := (Fault{Pointer: pointer, Message: text}); !slices.Contains(*to, f) {
			*to = append(*to, f)
		}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			add(pointer.String()+"/"+escape(name), "is not a known field")
		}
	case *kind.Required:
		for _, name := range k.Missing {
			add(pointer.String()+"/"+escape(name), "is missing")
		}
	case *kind.Pattern:
		add(pointer.String(), hint.Form(k.Want))
	default:
		add(pointer.String(), e.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
	}
}

func escape(token string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
}
