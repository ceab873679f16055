package sdk_test

import (
	"math"
	"strings"
	"testing"

	sdk "github.com/assay-run/assay/plugin-sdk"
)

// TestPlots: what can be drawn is taken, and a refusal names the field.
func TestPlots(t *testing.T) {
	defaults := []byte(`{"oversold":30,"mode":"close","none":null}`)
	level := func(l sdk.PlotLevel) sdk.Plot { return sdk.Plot{Series: "rsi", Levels: []sdk.PlotLevel{l}} }
	for want, plots := range map[string][]sdk.Plot{
		"": {{Series: "average"}, {Series: "low", Upper: "high", Kind: sdk.PlotBand, Color: sdk.ColorMuted},
			{Series: "rsi", Pane: "RSI", Levels: []sdk.PlotLevel{{Value: 70}, {Param: "oversold"}}}},
		"plots[0].series: name a series":               {{Title: "nameless"}},
		`plots[1].series: "a" is plotted by plots[0]`:  {{Series: "a"}, {Series: "a"}},
		"plots[0].kind: \"pie\" is none of":            {{Series: "a", Kind: "pie"}},
		"plots[0].upper: a band needs":                 {{Series: "a", Kind: sdk.PlotBand, Upper: "a"}},
		"plots[0].upper: only a band":                  {{Series: "a", Upper: "b"}},
		"plots[0].color: \"#ff0000\" is none of":       {{Series: "a", Color: "#ff0000"}},
		"plots[0].title: must be UTF-8":                {{Series: "a", Title: "\xff"}},
		"plots[0].pane: must be UTF-8 of at most 256":  {{Series: "a", Pane: strings.Repeat("p", 257)}},
		"plots[0].levels: 17 are too many":             {{Series: "a", Levels: make([]sdk.PlotLevel, 17)}},
		"plots[0].levels[0].value: must be a finite":   {level(sdk.PlotLevel{Value: math.NaN()})},
		`plots[0].levels[0].param: "x" is no numeric`:  {level(sdk.PlotLevel{Param: "x"})},
		`plots[0].levels[0].param: "mode" is no`:       {level(sdk.PlotLevel{Param: "mode"})},
		`plots[0].levels[0].param: "none" is no`:       {level(sdk.PlotLevel{Param: "none"})},
		"plots: 65 are too many, at most 64":           make([]sdk.Plot, 65),
		"plots[0].levels[0].title: must be UTF-8 of a": {level(sdk.PlotLevel{Title: strings.Repeat("t", 257)})},
	} {
		err := sdk.CheckPlots(plots, defaults)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
