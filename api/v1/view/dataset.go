package view

import (
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/holdout"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Dataset is one stored series of candles.
type Dataset struct {
	ID        string           `json:"dataset_id"`
	Exchange  string           `json:"exchange"`
	Symbol    market.Symbol    `json:"symbol"`
	Timeframe market.Timeframe `json:"timeframe"`
	SHA256    string           `json:"sha256"`
	Rows      int              `json:"rows"`
	// First and Last are open times.
	First   market.Time `json:"first"`
	Last    market.Time `json:"last"`
	Missing int         `json:"missing"`
	// Coverage is the share of the candles that each stretch has, from first to last.
	Coverage     []Number    `json:"coverage"`
	HoldoutStart market.Time `json:"holdout_start"`
	// Looks counts those at the hold-out.
	Looks      int             `json:"looks"`
	Calendar   candle.Calendar `json:"calendar"`
	Provenance Provenance      `json:"provenance"`
}

// Provenance is where candles come from.
type Provenance struct {
	// Source is bundled, imported, fetched or resampled.
	Source string `json:"source"`
	// Format is that of the files of an import, Connector what has fetched, DerivedFrom the hash of the
	// candles that were resampled.
	Format      *string     `json:"format"`
	Connector   *string     `json:"connector"`
	DerivedFrom *string     `json:"derived_from"`
	StoredAt    market.Time `json:"stored_at"`
}

// Input is one stored series beside the candles, as it is now.
type Input struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Rows   int    `json:"rows"`
	// First and Last are the times of rows, null where the record is of before.
	First market.Time `json:"first"`
	Last  market.Time `json:"last"`
	// LastKnown is when the newest row became known.
	LastKnown market.Time `json:"last_known"`
	StoredAt  market.Time `json:"stored_at"`
}

// InputOf shows an input.
func InputOf(in candle.StoredInput) Input {
	return Input{Name: in.Name, SHA256: in.SHA256, Rows: in.Rows, First: in.First, Last: in.Last,
		LastKnown: in.LastKnown, StoredAt: in.CreatedAt}
}

// DatasetOf shows a dataset with its coverage.
func DatasetOf(d holdout.Dataset, coverage []float64) Dataset {
	out := Dataset{ID: d.ID, Exchange: d.Exchange, Symbol: d.Symbol, Timeframe: d.Timeframe, SHA256: d.SHA256,
		Rows: d.Rows, First: d.First, Last: d.Last, Missing: d.Report.Gaps.Missing,
		Coverage: make([]Number, len(coverage)), HoldoutStart: d.HeldOut(), Calendar: d.Calendar,
		Provenance: Provenance{Source: "imported", Format: text(d.Report.Profile),
			DerivedFrom: text(d.DerivedFrom), StoredAt: d.CreatedAt}}
	for i, share := range coverage {
		out.Coverage[i] = Number(share)
	}
	if d.Market != nil {
		out.Looks = len(d.Market.Looks)
	}
	p := &out.Provenance
	switch fetched := d.Report.Fetched; {
	case d.DerivedFrom != "":
		p.Source = "resampled"
	case fetched != nil:
		p.Source, p.Connector = "fetched", text(fetched.Connector+" "+fetched.ConnectorVersion)
	case d.Exchange == candle.SampleExchange:
		p.Source = "bundled"
	}
	return out
}
