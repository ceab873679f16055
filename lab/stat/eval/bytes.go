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

	"github.com/go-json-experiment/json/jsontext"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// text is an input that is listed and not looked at.
type text = jsontext.Value

func randomFunctions() []Function {
	return []Function{
		define("periods_per_year", "[]", "Candles in a year of a market that never closes.", func(in struct {
			Timeframes []string `in:"timeframes[]"`
		}) any {
			out := make([]float64, len(in.Timeframes))
			for i, text := range in.Timeframes {
				tf, err := market.ParseTimeframe(text)
				if err != nil {
					return refused(at("timeframes", i), "%v", err)
				}
				out[i] = metric.CandlePeriods(tf, metric.Calendar24x7, 0, 0)
			}
			return out
		}).named("periods_per_year (24/7 market, 365 d)"),
		define("pcg", "6 hex words", "The first words of Go's PCG, the generator of every random stream.",
			func(in struct {
				Seed1 uint64 `in:"seed1"`
				Seed2 uint64 `in:"seed2"`
			}) any {
				return words(rand.NewPCG(in.Seed1, in.Seed2), 6)
			}).named("math/rand/v2 PCG"),
		define("chacha8", "4 hex words", "The first words of Go's ChaCha8.", func(in struct {
			Seed string `in:"seed_ascii (32 bytes)"`
		}) any {
			var seed [32]byte
			if copy(seed[:], in.Seed) != len(in.Seed) || len(in.Seed) != len(seed) {
				return refused(at("seed_ascii"), "seed_ascii has %d bytes, not %d", len(in.Seed), len(seed))
			}
			return words(rand.NewChaCha8(seed), 4)
		}).named("math/rand/v2 ChaCha8"),
		define("ema_portable", "input, ema_safe: first 8 bytes of sha256 of a price series and of its EMA",
			"Whether this CPU computes an EMA like every other: b2b6d9b75915d99e, 6e19142326499d4d.",
			func(in struct {
				Generator text `in:"generator"`
				Alpha     text `in:"alpha"`
				Formula   text `in:"formula"`
				Digest    text `in:"digest (texts, not executed)"`
			}) any {
				input, ema := portableEMA()
				return fields("input", input, "ema_safe", ema)
			}).named("ema with explicit float64() conversions"),
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
		define("canonical_json", "output_utf8, sha256", "Canonical JSON (RFC 8785) and its hash.",
			func(in document) any { return in.canonical("output_utf8") }).
			named("canonicalize arrays", "canonicalize french", "canonicalize structures",
				"canonicalize unicode", "canonicalize values", "canonicalize weird"),
		define("canonical_number", "texts; `ERROR` for Inf, NaN",
			"The text of a 64-bit float in canonical JSON.",
			func(in struct {
				Hex []string `in:"ieee_hex[]"`
			}) any {
				out := make([]string, len(in.Hex))
				for i, text := range in.Hex {
					bits, err := strconv.ParseUint(text, 16, 64)
					if err != nil || len(text) != 16 {
						return refused(at("ieee_hex", i), "%q is not 16 hex digits", text)
					}
					if out[i], err = digest.Number(math.Float64frombits(bits)); err != nil {
						out[i] = "ERROR"
					}
				}
				return out
			}).named("number serialisation"),
		define("request_sha256", "canonical, sha256",
			"The identity of a request: the hash of its canonical JSON.",
			func(in document) any { return in.canonical("canonical") }).named("sha256(JCS(request))"),
		define("canonical_sha256", "sha256", "The hash of a text that is canonical JSON already.",
			func(in struct {
				Text string `in:"canonical"`
			}) any {
				if _, err := digest.CanonicalJSON([]byte(in.Text)); err != nil {
					return refused(at("canonical"), "%v", err)
				}
				return fields("sha256", digest.SHA256Hex([]byte(in.Text)))
			}).named("one parameter changed"),
	}
}

// document is a JSON text.
type document struct {
	Text string `in:"input_utf8"`
}

// canonical answers with the canonical form of a text, under a name, and its hash.
func (in document) canonical(name string) any {
	out, err := digest.CanonicalJSON([]byte(in.Text))
	if err != nil {
		var bad *digest.JSONError
		if errors.As(err, &bad) {
			return refused(at("input_utf8"), "input_utf8 is not JSON that has a canonical form: %v", bad)
		}
		return refused(at("input_utf8"), "%v", err)
	}
	return fields(name, string(out), "sha256", digest.SHA256Hex(out))
}
