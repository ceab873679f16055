package wire

import (
	"encoding/json"
	"fmt"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// Description is what a plugin says of itself: the author's Spec, and what the SDK
// adds.
type Description struct {
	sdk.Spec
	Language        string // go, python, ...
	SDKVersion      string
	ProtocolVersion int
	// SimID is the simulator's name, revision and hash; "" without one.
	SimID         string
	ParamsSchema  json.RawMessage
	DefaultParams json.RawMessage
}

// SpecToProto converts a description.
func SpecToProto(d *Description) *strategypb.Spec {
	return &strategypb.Spec{
		Name: text(d.Name), DisplayName: text(d.DisplayName), Version: text(d.Version),
		Description: text(d.Spec.Description), Author: text(d.Author), Language: d.Language,
		SdkVersion: d.SDKVersion, ProtocolVersion: int32(d.ProtocolVersion), SimId: d.SimID,
		Modes: names(d.Modes), Timeframes: names(d.Timeframes),
		MinSymbols: int32(d.MinSymbols), MaxSymbols: int32(d.MaxSymbols),
		Supports: &strategypb.Supports{
			Short: d.Supports.Short, MultiSymbol: d.Supports.MultiSymbol, ScaleFree: d.Supports.ScaleFree,
		},
		ParamsSchema: string(d.ParamsSchema), DefaultParams: string(d.DefaultParams),
	}
}

// SpecFromProto converts a description and checks its form. Whether name, schema
// and defaults are any good is for the catalogue to say.
func SpecFromProto(p *strategypb.Spec) (Description, error) {
	var r reader
	d := Description{
		Spec: sdk.Spec{
			Name:        r.text("name", p.GetName(), MaxTextBytes),
			DisplayName: r.text("display_name", p.GetDisplayName(), MaxTextBytes),
			Version:     r.text("version", p.GetVersion(), MaxTextBytes),
			Description: r.text("description", p.GetDescription(), MaxMessageText),
			Author:      r.text("author", p.GetAuthor(), MaxTextBytes),
			MinSymbols:  int(p.GetMinSymbols()), MaxSymbols: int(p.GetMaxSymbols()),
			Supports: sdk.Supports{
				Short: p.GetSupports().GetShort(), MultiSymbol: p.GetSupports().GetMultiSymbol(),
				ScaleFree: p.GetSupports().GetScaleFree(),
			},
		},
		Language:        r.text("language", p.GetLanguage(), MaxTextBytes),
		SDKVersion:      r.text("sdk_version", p.GetSdkVersion(), MaxTextBytes),
		ProtocolVersion: int(p.GetProtocolVersion()),
		SimID:           r.text("sim_id", p.GetSimId(), MaxTextBytes),
		ParamsSchema:    json.RawMessage(r.text("params_schema", p.GetParamsSchema(), MaxDocumentBytes)),
		DefaultParams:   json.RawMessage(r.text("default_params", p.GetDefaultParams(), MaxDocumentBytes)),
	}
	for _, m := range p.GetModes() {
		d.Modes = append(d.Modes, sdk.Mode(r.text("modes", m, MaxTextBytes)))
	}
	for i, name := range p.GetTimeframes() {
		tf, err := market.ParseTimeframe(name)
		if err != nil {
			r.keep(wrong(at("timeframes", i), "%.40q is not a timeframe", name))
		}
		d.Timeframes = append(d.Timeframes, tf)
	}
	if d.MinSymbols < 1 || d.MaxSymbols < d.MinSymbols {
		r.keep(wrong("max_symbols", "%d to %d symbols is not a range from at least 1", d.MinSymbols, d.MaxSymbols))
	}
	if !json.Valid(d.ParamsSchema) {
		r.keep(wrong("params_schema", "is not JSON"))
	}
	if !json.Valid(d.DefaultParams) {
		r.keep(wrong("default_params", "is not JSON"))
	}
	return d, r.err
}

// names are the values as texts; nil of none.
func names[T any](values []T) []string {
	var list []string
	for _, v := range values {
		list = append(list, fmt.Sprint(v))
	}
	return list
}
