package bundle

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"time"

	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The schemas of a challenge. Windows of SchemaChallengeHalf are half of a range that is too short for
// two whole windows. Earlier versions drew them by SchemaChallenge, up to the whole range, and what a
// program decides there is in the files of its baseline.
const (
	SchemaChallenge     = "challenge/v1"
	SchemaChallengeHalf = "challenge/v2"
)

// ChallengeCandles is how long the window of a challenge is at most, in candles.
const ChallengeCandles = 2000

// Challenge is the window that the seal of a revision draws for a replay. Nobody knows it before
// the plane has signed the seal, so no file of the bundle has what the program decides there.
type Challenge struct {
	Schema string `json:"schema" is:"oneof challenge/v1 challenge/v2"`
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
// first timeframe fit in it, counted from its begin. The window has c = min(2000, n/2) of them, by
// SchemaChallengeHalf where that is n/2, rounded down. It begins k steps after the begin of the range,
// where k is the leaf hash as a big-endian integer modulo n - c + 1. Missing candles are steps too.
//
// The error reports why the bundle has no such window.
func ChallengeOf(leaf string, b *Bundle) (*Challenge, error) { return draw(leaf, b, 2) }

// EarlierChallengeOf is the challenge that earlier versions drew of a bundle, with a window of
// min(2000, n) candles: logs have answers to it.
func EarlierChallengeOf(leaf string, b *Bundle) (*Challenge, error) { return draw(leaf, b, 1) }

// draw draws a window that fits in the common range at least so often.
func draw(leaf string, b *Bundle, times int64) (*Challenge, error) {
	sum, err := hex.DecodeString(leaf)
	if err != nil || !field.IsSHA256(leaf) {
		return nil, fmt.Errorf("the leaf of the seal is not a SHA-256: %q", leaf)
	}
	tf, from, n, err := commonRange(b)
	if err != nil {
		return nil, err
	}
	if n < times {
		return nil, fmt.Errorf("the candles of the baseline have no common range of %d %s: /data", times, tf)
	}
	out := &Challenge{Schema: SchemaChallenge, Leaf: leaf, Candles: min(ChallengeCandles, n/times)}
	if times > 1 && out.Candles < ChallengeCandles {
		out.Schema = SchemaChallengeHalf
	}
	starts := big.NewInt(n - out.Candles + 1)
	k := new(big.Int).Mod(new(big.Int).SetBytes(sum), starts).Int64()
	out.Start = step(tf, from, k).String()
	return out, nil
}

// commonRange is the begin of the common range of a bundle's baseline and how many steps of its
// timeframe fit in it.
func commonRange(b *Bundle) (tf market.Timeframe, from market.Time, n int64, err error) {
	s := &b.Strategy
	if len(s.Timeframes) == 0 || len(s.Symbols) == 0 || len(b.Data) < len(s.Symbols) {
		return tf, 0, 0, fmt.Errorf("the bundle lists no candles for each symbol of a timeframe: /data")
	}
	if tf, err = market.ParseTimeframe(s.Timeframes[0]); err != nil {
		return tf, 0, 0, fmt.Errorf("/strategy/timeframes/0: %w", err)
	}
	var to market.Time
	for i, d := range b.Data[:len(s.Symbols)] {
		start, ok := field.ParseTime(d.Start)
		end, also := field.ParseTime(d.End)
		if !ok || !also {
			return tf, 0, 0, fmt.Errorf("/data/%d has no start and end", i)
		}
		if t := market.FromTime(start); i == 0 || t > from {
			from = t
		}
		if t := market.FromTime(end); i == 0 || t < to {
			to = t
		}
	}
	return tf, from, stepsIn(tf, from, to), nil
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
	case c.Schema != want.Schema:
		return "/schema", c.Schema, want.Schema
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
