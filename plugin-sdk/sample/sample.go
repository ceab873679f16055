// Package sample holds the candles that every installation brings along, as gzipped
// CSV inside the program: BTC/USDT hours and ETH/USDT days, for a first run and for an
// author's tests without downloading anything. Where they come from and under which
// licences is in ATTRIBUTION.md.
//
// It is data only and imports market. The host installs it as the exchange sample.
//
// It is a package of its own because only programs that use the candles link them.
package sample

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/assay-run/assay/plugin-sdk/market"
)

//go:embed BTCUSDT_1h.csv.gz
var btcusdt1h []byte

//go:embed ETHUSDT_1d.csv.gz
var ethusdt1d []byte

//go:embed ATTRIBUTION.md
var attribution string

// Attribution is where the candles come from and under which licences.
func Attribution() string { return attribution }

// The names of the files.
const (
	BTCUSDT1h = "BTCUSDT_1h.csv.gz"
	ETHUSDT1d = "ETHUSDT_1d.csv.gz"
)

// File is a file of the sample, gzipped CSV; nil if there is no such name.
func File(name string) []byte {
	switch name {
	case BTCUSDT1h:
		return btcusdt1h
	case ETHUSDT1d:
		return ethusdt1d
	}
	return nil
}

// BTCUSDT is 58,419 hours of BTC/USDT, 2017-08-17 to 2024-04-21.
func BTCUSDT() (*market.Series, error) { return read(BTCUSDT1h, "BTC/USDT", "1h") }

// ETHUSDT is 1,991 days of ETH/USDT, 2017-08-17 to 2023-01-28.
func ETHUSDT() (*market.Series, error) { return read(ETHUSDT1d, "ETH/USDT", "1d") }

// read reads a file whose columns are known: ms or an ISO time, open, high, low,
// close, volume.
func read(name string, symbol market.Symbol, timeframe string) (*market.Series, error) {
	tf, err := market.ParseTimeframe(timeframe)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(File(name)))
	if err != nil {
		return nil, err
	}
	s := &market.Series{Symbol: symbol, Timeframe: tf}
	lines := bufio.NewScanner(z)
	for n := 0; lines.Scan(); n++ {
		if n == 0 {
			continue // the names of the columns
		}
		c, err := row(strings.Split(lines.Text(), ","))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n+1, err)
		}
		s.Append(c)
	}
	return s, lines.Err()
}

func row(cells []string) (c market.Candle, err error) {
	if len(cells) != 6 {
		return c, fmt.Errorf("%d cells, want 6", len(cells))
	}
	if ms, e := strconv.ParseInt(cells[0], 10, 64); e == nil {
		c.OpenTime = market.Time(ms)
	} else if c.OpenTime, err = market.ParseTime(cells[0]); err != nil {
		return c, err
	}
	for i, to := range []*float64{&c.Open, &c.High, &c.Low, &c.Close, &c.Volume} {
		if *to, err = strconv.ParseFloat(cells[i+1], 64); err != nil {
			return c, err
		}
	}
	return c, nil
}
