package artifact

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"iter"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The kinds of request.
const (
	KindRun           = "run"
	KindTrial         = "trial"
	KindFalsification = "falsification"
	KindService       = "service"
)

// StatisticsVersion names the statistical conventions of requests and reports.
const StatisticsVersion = "lab-stats/2"

// Request is one question, every default filled in: evaluation-request/v1. Equal
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

// DataRef is a window of one candle file, in Unix milliseconds.
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

// Canonical is the request as canonical JSON: the content of request.json.
func (r *Request) Canonical() ([]byte, error) { return digest.JCS(r) }

// Hash is the SHA-256 of Canonical in lower-case hex.
func (r *Request) Hash() (string, error) { return digest.Of(r) }

// TrialKey names what is tried, whatever the seed and the engine: runs with equal
// keys are one trial.
func (r *Request) TrialKey() (string, error) {
	return digest.Of(map[string]any{
		"family_id": r.FamilyID, "plugin_sha256": r.Inputs.PluginSHA256, "strategy_params": r.StrategyParams,
		"data": r.Inputs.Data, "timeframe": r.Timeframe, "execution": r.Execution,
	})
}

func engineRef(sha256 string) EngineRef {
	return EngineRef{SHA256: sha256, Metrics: metric.Semantics, Statistics: StatisticsVersion}
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

// FullSplit is the scheme none: one split over all the close times, which ascend.
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

// Canonical is the content of splits.json.
func (s *Splits) Canonical() ([]byte, error) { return digest.JCS(s) }

// find is the range of a split; the zero value if there is no such split.
func (s *Splits) find(id string) SplitRange {
	for _, r := range s.Splits {
		if r.ID == id {
			return r
		}
	}
	return SplitRange{ID: id}
}
