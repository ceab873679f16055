package bundle

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"time"

	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// SchemaChallenge is the schema of an answer to a challenge.
const SchemaChallenge = "challenge/v1"

// ChallengeCandles is how long the window of a challenge is, in candles.
const ChallengeCandles = 2000

// Challenge is the window that the seal of a revision draws for a replay. Nobody knows it before
// the plane has signed the seal, so no file of the bundle has what the program decides there.
type Challenge struct {
	Schema string `json:"schema" is:"oneof challenge/v1"`
	// Leaf is the hash of the revision's first seal in the tree: SHA-256 of a zero byte and the leaf.
	Leaf string `json:"seal_leaf_sha256" is:"sha256"`
	// Start is the open time of the first candle, Candles how many steps of the timeframe there are.
	Start   string `json:"start" is:"time"`
	Candles int64  `json:"candles" min:"1" max:"2000"`
}

// ChallengeAnswer is what a program has decided in the window of a challenge, played in lockstep
// from a flat account with its own warm-up before it: the decision hash of that run.
type ChallengeAnswer struct {
	Challenge
	DecisionSHA256 string `json:"decision_sha256" is:"sha256"`
}

// ChallengeOf is the challenge of a revision, by the leaf hash of its first seal in lower-case hex
// and its bundle. Nothing else goes in.
//
// The candles of the baseline are those that the bundle lists first, one dataset for each symbol.
// Their common range begins with the latest start and ends with the earliest end; n steps of the
// first timeframe fit in it, counted from its begin. The window has c = min(2000, n) of them, so
// with fewer it is the whole range. It begins k steps after the begin of the range, where k is the
// leaf hash as a big-endian integer modulo n - c + 1. Missing candles are steps too.
//
// The error reports why the bundle has no such window.
func ChallengeOf(leaf string, b *Bundle) (*Challenge, error) {
	sum, err := hex.DecodeString(leaf)
	if err != nil || !field.IsSHA256(leaf) {
		return nil, fmt.Errorf("the leaf of the seal is no SHA-256: %q", leaf)
	}
	s := &b.Strategy
	if len(s.Timeframes) == 0 || len(s.Symbols) == 0 || len(b.Data) < len(s.Symbols) {
		return nil, fmt.Errorf("the bundle lists no candles for each symbol of a timeframe: /data")
	}
	tf, err := market.ParseTimeframe(s.Timeframes[0])
	if err != nil {
		return nil, fmt.Errorf("/strategy/timeframes/0: %w", err)
	}
	var from, to market.Time
	for i, d := range b.Data[:len(s.Symbols)] {
		start, ok := field.ParseTime(d.Start)
		end, also := field.ParseTime(d.End)
		if !ok || !also {
			return nil, fmt.Errorf("/data/%d has no start and end", i)
		}
		if t := market.FromTime(start); i == 0 || t > from {
			from = t
		}
		if t := market.FromTime(end); i == 0 || t < to {
			to = t
		}
	}
	n := stepsIn(tf, from, to)
	if n < 1 {
		return nil, fmt.Errorf("the candles of the baseline have no common range of one %s: /data", tf)
	}
	c := min(ChallengeCandles, n)
	starts := big.NewInt(n - c + 1)
	k := new(big.Int).Mod(new(big.Int).SetBytes(sum), starts).Int64()
	return &Challenge{Schema: SchemaChallenge, Leaf: leaf, Start: step(tf, from, k).String(), Candles: c}, nil
}

// Window is the begin of the window and its end, in which no candle opens any more.
func (c *Challenge) Window(timeframe string) (from, to market.Time, err error) {
	tf, err := market.ParseTimeframe(timeframe)
	if err != nil {
		return 0, 0, err
	}
	start, ok := field.ParseTime(c.Start)
	if !ok {
		return 0, 0, fmt.Errorf("the challenge has no start: %q", c.Start)
	}
	from = market.FromTime(start)
	return from, step(tf, from, c.Candles), nil
}

// Differs is the first member, as a pointer into the answer, in which a window is another one than
// that of the log, with both values; "" where it is the same.
func (c *Challenge) Differs(want *Challenge) (pointer, found, expected string) {
	switch {
	case c.Leaf != want.Leaf:
		return "/seal_leaf_sha256", c.Leaf, want.Leaf
	case c.Start != want.Start:
		return "/start", c.Start, want.Start
	case c.Candles != want.Candles:
		return "/candles", fmt.Sprint(c.Candles), fmt.Sprint(want.Candles)
	}
	return "", "", ""
}

// step is the time some steps after another.
func step(tf market.Timeframe, from market.Time, steps int64) market.Time {
	if d := tf.Duration(); d > 0 {
		return from + market.Time(steps)*market.Time(d/time.Millisecond)
	}
	return market.FromTime(from.Time().AddDate(0, tf.Count*int(steps), 0))
}

// stepsIn is how many whole steps fit between two times.
func stepsIn(tf market.Timeframe, from, to market.Time) int64 {
	if d := tf.Duration(); d > 0 {
		return int64(to-from) / int64(d/time.Millisecond)
	}
	n := int64(0)
	for step(tf, from, n+1) <= to {
		n++
	}
	return n
}
