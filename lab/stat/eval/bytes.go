package eval

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/stat/eval/line"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func randomFunctions() []Function {
	return []Function{
		{
			Names: []string{"periods_per_year (24/7 market, 365 d)"}, Forms: form("timeframes[]"), Value: "[]",
			Doc: "Candles in a year of a market that never closes.",
			bind: func(in *line.Inputs) func() any {
				var frames []market.Timeframe
				for i, text := range in.Texts("timeframes") {
					tf, err := market.ParseTimeframe(text)
					if err != nil {
						in.Refuse(line.InvalidArgument, "timeframes", []any{i}, "%v", err)
					}
					frames = append(frames, tf)
				}
				return func() any {
					return each(frames, func(tf market.Timeframe) any { return metric.CandlePeriods(tf, metric.Calendar24x7, 0, 0) })
				}
			},
		},
		{
			Names: []string{"math/rand/v2 PCG"}, Forms: form("seed1", "seed2"), Value: "6 hex words",
			Doc: "The first words of Go's PCG, the generator of every random stream.",
			bind: func(in *line.Inputs) func() any {
				source := rand.NewPCG(in.Uint64("seed1"), in.Uint64("seed2"))
				return func() any { return words(source, 6) }
			},
		},
		{
			Names: []string{"math/rand/v2 ChaCha8"}, Forms: form("seed_ascii (32 bytes)"), Value: "4 hex words",
			Doc: "The first words of Go's ChaCha8.",
			bind: func(in *line.Inputs) func() any {
				var seed [32]byte
				text := in.Text("seed_ascii")
				if copy(seed[:], text) != len(text) || len(text) != len(seed) {
					in.Refuse(line.InvalidArgument, "seed_ascii", nil, "seed_ascii has %d bytes, not %d", len(text), len(seed))
				}
				return func() any { return words(rand.NewChaCha8(seed), 4) }
			},
		},
		{
			Names: []string{"ema with explicit float64() conversions"}, Forms: form("generator", "alpha", "formula", "digest (texts, not executed)"),
			Value: "input, ema_safe: first 8 bytes of sha256 of a price series and of its EMA",
			Doc:   "Whether this CPU computes an EMA like every other: b2b6d9b75915d99e, 6e19142326499d4d.",
			bind: func(*line.Inputs) func() any {
				return func() any {
					input, ema := portableEMA()
					return line.Object{{Name: "input", Value: input}, {Name: "ema_safe", Value: ema}}
				}
			},
		},
	}
}

// words are written as the tests of the Go library write them, without leading zeros.
func words(source rand.Source, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%#x", source.Uint64())
	}
	return out
}

// portableEMA hashes a fixed price series and its EMA, which starts at the first price and
// then takes in every price, the first once more. Every product is rounded before it is
// added to something, so that no CPU fuses the two into one rounding.
func portableEMA() (input, ema string) {
	const (
		prices = 10_000
		alpha  = 0.1
	)
	rng := rand.New(rand.NewPCG(1, 2))
	in, out := sha256.New(), sha256.New()
	write := func(h hash.Hash, x float64) {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x))) // a hash never fails
	}
	p, e := 100.0, 0.0
	for i := range prices {
		p = float64(p * float64(1+float64(0.01*(rng.Float64()-0.5))))
		if i == 0 {
			e = p
		}
		e = float64(alpha*p) + float64((1-alpha)*e)
		write(in, p)
		write(out, e)
	}
	return hex.EncodeToString(in.Sum(nil)[:8]), hex.EncodeToString(out.Sum(nil)[:8])
}

func byteFunctions() []Function {
	return []Function{
		{
			Names: []string{"canonicalize arrays", "canonicalize french", "canonicalize structures", "canonicalize unicode", "canonicalize values", "canonicalize weird"},
			Forms: form("input_utf8"), Value: "output_utf8, sha256",
			Doc:  "Canonical JSON (RFC 8785) and its hash.",
			bind: canonical("output_utf8"),
		},
		{
			Names: []string{"number serialisation"}, Forms: form("ieee_hex[]"), Value: "texts; `ERROR` for Inf, NaN",
			Doc: "The text of a 64-bit float in canonical JSON.",
			bind: func(in *line.Inputs) func() any {
				var numbers []float64
				for i, text := range in.Texts("ieee_hex") {
					bits, err := strconv.ParseUint(text, 16, 64)
					if err != nil || len(text) != 16 {
						in.Refuse(line.InvalidArgument, "ieee_hex", []any{i}, "%q is not 16 hex digits", text)
					}
					numbers = append(numbers, math.Float64frombits(bits))
				}
				return func() any {
					return each(numbers, func(x float64) any {
						text, err := digest.Number(x)
						if err != nil {
							return "ERROR"
						}
						return text
					})
				}
			},
		},
		{
			Names: []string{"sha256(JCS(request))"}, Forms: form("input_utf8"), Value: "canonical, sha256",
			Doc:  "The identity of a request: the hash of its canonical JSON.",
			bind: canonical("canonical"),
		},
		{
			Names: []string{"one parameter changed"}, Forms: form("canonical"), Value: "sha256",
			Doc: "The hash of a text that is canonical JSON already.",
			bind: func(in *line.Inputs) func() any {
				text := in.Text("canonical")
				return func() any {
					if _, err := digest.CanonicalJSON([]byte(text)); err != nil {
						return refused("canonical", "%v", err)
					}
					return line.Object{{Name: "sha256", Value: digest.SHA256Hex([]byte(text))}}
				}
			},
		},
	}
}

// canonical answers with the canonical form of input_utf8, under a name, and its hash.
func canonical(name string) func(*line.Inputs) func() any {
	return func(in *line.Inputs) func() any {
		text := in.Text("input_utf8")
		return func() any {
			out, err := digest.CanonicalJSON([]byte(text))
			if err != nil {
				var bad *digest.JSONError
				if errors.As(err, &bad) {
					return refused("input_utf8", "input_utf8 is not JSON that has a canonical form: %v", bad)
				}
				return refused("input_utf8", "%v", err)
			}
			return line.Object{{Name: name, Value: string(out)}, {Name: "sha256", Value: digest.SHA256Hex(out)}}
		}
	}
}
