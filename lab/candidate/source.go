package candidate

import (
	"context"
	"slices"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// sources are where the candles of a run came from, by what the store here has noted of them.
func sources(ctx context.Context, h *request.Host, m *artifact.Metadata) []bundle.CandleSource {
	list := make([]bundle.CandleSource, 0, len(m.Data))
	for _, d := range m.Data {
		out := bundle.CandleSource{SHA256: d.SHA256, Source: "unknown"}
		tf, err := market.ParseTimeframe(d.Timeframe)
		if err == nil {
			var stored candle.Dataset
			stored, err = h.Candles.Pinned(ctx, m.Exchange, market.Symbol(d.Symbol), tf, d.SHA256)
			if err == nil {
				out.Source, out.From = sourceOf(stored)
			}
		}
		list = append(list, out)
	}
	return list
}

// sourceOf is where a dataset came from: what fetched it, or the SHA-256 of what it was made from.
func sourceOf(d candle.Dataset) (source, from string) {
	r := &d.Report
	switch {
	case d.Exchange == candle.SampleExchange:
		return "bundled", ""
	case d.DerivedFrom != "":
		return "resampled", d.DerivedFrom
	case r.Fetched != nil:
		return "fetched", r.Fetched.Connector + " " + r.Fetched.ConnectorVersion
	case len(r.Files) > 0:
		return "imported", r.Files[0].SHA256
	}
	return "unknown", ""
}

// CandlesOf are where the candles of replayed runs came from, once for each file of candles.
func CandlesOf(list []Outcome) []bundle.CandleSource {
	out := []bundle.CandleSource{}
	for _, o := range list {
		for _, c := range o.came {
			if !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out
}
