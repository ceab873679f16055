package importer

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Profiles are all formats in the order in which they are asked: the general one comes last.
func Profiles() []Profile {
	return []Profile{
		{"freqtrade",
			"JSON [[ms,o,h,l,c,v]]; Feather or Parquet with date, open, high, low, close, volume; symbol " +
				"and timeframe from a name like BTC_USDT-1h", freqtrade},
		{"yfinance", "three lines of header that begin with Price, Ticker and Date", yfinance},
		{"cryptodatadownload",
			"a line with the site's address, then a header with Symbol; UTC; the first volume counts",
			cryptoDataDownload},
		{"stooq", "a header with <TICKER>; yyyymmdd; --tz for candles below a day, --ticker where there " +
			"are several", byMark(stooq, "ticker")},
		{"metatrader5",
			"tabs and a header with <DATE>; yyyy.mm.dd, times want --tz; VOL, or TICKVOL if it is 0 " +
				"throughout", byMark(metaTrader, "date")},
		{"dukascopy", "a header with Gmt time (or Local time); dd.mm.yyyy",
			byMark(dukascopy, "gmttime", "localtime")},
		{"histdata", "6 columns with semicolons and no header; yyyymmdd hhmmss, UTC-5 all year", histData},
		{"lean", "6 columns without header, yyyyMMdd HH:mm; shares: New York, prices / 10,000; with " +
			"decimals: UTC, prices as they are", lean},
		{"nasdaq", "a header with Close/Last; mm/dd/yyyy; $ before prices", byMark(nasdaq, "close/last")},
		{"investing",
			"a header with Price and Change %; the order of a date from a part above 12, or --date-order; " +
				"thousands, K, M, B", byMark(investing, "price")},
		{"coinmarketcap", "a header with timeOpen and semicolons; decimal point or comma; volume in quote",
			byMark(coinMarketCap, "timeopen")},
		{"polygon", "a header with window_start; nanoseconds; --ticker where there are several",
			byMark(timeAtMark, "windowstart")},
		{"databento",
			"a header with ts_event; prices that are integers are times 1e-9; --ticker where there are " +
				"several", byMark(databento, "tsevent")},
		{"backtrader",
			"a header with one name fewer than the rows have cells: date, time of day; wants --tz, and " +
				"--stamp close where times are ends", backtrader},
		{"binance", "12 columns without header, the 7th (close time) above the 1st; ms and us mixed",
			binance},
		{"binance-header",
			"a header with open_time, spot or futures; COIN-M files need --volume-unit contracts",
			headerWith("opentime")},
		{"kraken", "7 columns without header: time, open, high, low, close, volume, trades; XBT is BTC",
			kraken},
		{"ccxt", "6 columns without header, as fetch_ohlcv returns them: time, open, high, low, close, " +
			"volume; only where it is named", ccxt},
		{"yahoo", "a header with Adj Close; the unadjusted Close counts", headerWith("adjclose")},
		{"tradingview", "a header that begins with time,open,high,low,close; Volume anywhere behind",
			tradingView},
		{"by_name", "a header with time|timestamp|date|datetime|unix|open_time, open, high, low, close " +
			"and a name that begins with vol", byName},
	}
}

// byMark returns a format whose header has one of some names, which no other format has. set
// adds what the header leaves open; it reports whether this is the format at all.
func byMark(set func(h Head, l *Layout, at int) bool, marks ...string) func(Head) (Layout, bool, error) {
	return func(h Head) (Layout, bool, error) {
		names := h.Cells(0)
		at := find(names, marks...)
		if at < 0 {
			return Layout{}, false, nil
		}
		l := named(names)
		l.Skip = 1
		if !set(h, &l, at) {
			return Layout{}, false, nil
		}
		return l, true, complete(h, 0, l)
	}
}

// headerWith returns a format whose header names the columns as the general one does, and one more.
func headerWith(mark string) func(Head) (Layout, bool, error) {
	return func(h Head) (Layout, bool, error) {
		if find(h.Cells(0), mark) < 0 {
			return Layout{}, false, nil
		}
		return nameLayout(h, 0)
	}
}

// byName returns the general format: a header that names the columns.
func byName(h Head) (Layout, bool, error) {
	if h.isRow() {
		return Layout{}, false, nil
	}
	return nameLayout(h, 0)
}

// timeAtMark takes the marked column for the time; polygon puts all tickers of a day into one file.
func timeAtMark(_ Head, l *Layout, at int) bool {
	l.At[timeCell] = at
	return true
}

// databento writes prices as integers of 1e-9 unless it was asked for decimals.
func databento(h Head, l *Layout, at int) bool {
	l.At[timeCell] = at
	if l.At[tickerCell] < 0 {
		l.At[tickerCell] = find(h.Cells(0), "instrumentid")
	}
	if !h.hasPoint(1, l.prices()...) {
		l.Places = 9
	}
	return true
}

// nasdaq writes the way of its country: month first, dollars.
func nasdaq(_ Head, l *Layout, at int) bool {
	l.At[closeCell], l.Numbers, l.DateOrder = at, Money, MonthFirst
	return true
}

// investing writes dates the way of the reader's country, which the file does not name.
func investing(h Head, l *Layout, at int) bool {
	l.At[closeCell], l.Numbers, l.Times = at, Money, []string{"Jan 2, 2006"}
	return find(h.Cells(0), "change%") >= 0
}

// coinMarketCap has four columns of times; its timestamp is the close.
func coinMarketCap(h Head, l *Layout, at int) bool {
	l.At[timeCell], l.Numbers, l.VolumeUnit = at, DecimalComma, "quote"
	return h.Comma == ';' || h.Forced
}

// dukascopy has a file for each side of the price. Local times carry their offset.
func dukascopy(h Head, l *Layout, at int) bool {
	l.At[timeCell], l.Times = at, []string{"02.01.2006 15:04:05.000", "02.01.2006 15:04:05.000 GMT-0700"}
	if plain(h.Cells(0)[at]) == "gmttime" {
		l.Zone = time.UTC
	}
	return true
}

// metaTrader has times of the broker's server, and a real volume that most brokers
// leave at 0.
func metaTrader(h Head, l *Layout, at int) bool {
	names := h.Cells(0)
	l.At[timeCell], l.At[clockCell] = at, find(names, "time")
	l.At[volumeCell], l.At[tickCell] = find(names, "vol"), find(names, "tickvol")
	if l.At[volumeCell] < 0 && l.At[tickCell] >= 0 {
		l.At[volumeCell], l.At[tickCell], l.VolumeUnit = l.At[tickCell], -1, "ticks"
	}
	l.Times = []string{"2006.01.02 15:04:05", "2006.01.02 15:04", "2006.01.02"}
	return names[at] == "<DATE>" && (h.Comma == '\t' || h.Forced)
}

// stooq has the length of a candle in a column of its own. Days have a time of zeros
// that means nothing; other times are those of the exchange.
func stooq(h Head, l *Layout, at int) bool {
	names := h.Cells(0)
	l.At[timeCell], l.At[clockCell] = find(names, "date"), find(names, "time")
	l.Times = []string{"20060102 150405", "20060102 1504", "20060102"}
	if row, per := h.Cells(1), find(names, "per"); per >= 0 && per < len(row) {
		if l.Timeframe = period(row[per]); l.Timeframe.Approx() >= 24*time.Hour {
			l.At[clockCell] = -1
		}
	}
	return len(h.Lines) > 0 && names[at] == "<TICKER>"
}

// period is D, W or M, or a number of minutes.
func period(per string) market.Timeframe {
	if unit, ok := map[string]byte{"D": 'd', "W": 'w', "M": 'M'}[per]; ok {
		return market.Timeframe{Count: 1, Unit: unit}
	}
	n, err := strconv.Atoi(per)
	if err != nil || n < 1 || n > 9999 {
		return market.Timeframe{}
	}
	if n%60 == 0 {
		return market.Timeframe{Count: n / 60, Unit: 'h'}
	}
	return market.Timeframe{Count: n, Unit: 'm'}
}

// freqtrade writes rows of six as JSON, or a table whose time is called date, and
// names symbol and timeframe in the name of the file.
func freqtrade(h Head) (l Layout, ok bool, err error) {
	switch {
	case h.JSON && h.isRow() && filled(h.Cells(0)) == 6:
		l = byPosition()
	case isFreqtradeTable(h.Names):
		if l, ok, err = nameLayout(h, 0); err != nil {
			return l, ok, err
		}
	default:
		return Layout{}, false, nil
	}
	l.Symbol, l.Timeframe = fromName(h.Name)
	return l, true, nil
}

func isFreqtradeTable(names []string) bool {
	columns := []string{"date", "open", "high", "low", "close", "volume"}
	return !slices.ContainsFunc(columns, func(n string) bool { return !slices.Contains(names, n) })
}

// fileName is BASE_QUOTE-timeframe, or BASE_QUOTE_SETTLE-timeframe-futures. Names of
// prices without trades (mark, index, funding) are none.
var fileName = regexp.MustCompile(
	`^([A-Za-z0-9]+)_([A-Za-z0-9]+)(_[A-Za-z0-9]+)?-([1-9][0-9]{0,3}(?:[smhdwM]|Mo))(-futures)?\.`)

// fromName reads symbol and timeframe from the name of a file; most have neither.
func fromName(name string) (market.Symbol, market.Timeframe) {
	m := fileName.FindStringSubmatch(path.Base(name))
	if m == nil || m[3] != "" && m[5] == "" { // three parts only where one is the settlement
		return "", market.Timeframe{}
	}
	text := m[4]
	if text[len(text)-1] == 'o' { // 1Mo, for systems that do not distinguish 1M from 1m
		text = text[:len(text)-1]
	}
	tf, err := market.ParseTimeframe(text)
	if err != nil {
		return "", market.Timeframe{}
	}
	return market.Symbol(m[1] + "/" + m[2]), tf
}

// backtrader's files have a name for the date and none for the time of day behind it.
func backtrader(h Head) (Layout, bool, error) {
	names, row := h.Cells(0), h.Cells(1)
	l := named(names)
	if h.isRow() || filled(row) != len(names)+1 || l.At[timeCell] != 0 || !isClock(row[1]) {
		return Layout{}, false, nil
	}
	for i := openCell; i < clockCell; i++ {
		if l.At[i] >= 0 {
			l.At[i]++
		}
	}
	l.At[clockCell], l.Skip, l.EndStamps = 1, 1, true
	named := append([]string{names[0], ""}, names[1:]...)
	return l, true, complete(Head{Name: h.Name, Names: named}, 0, l)
}

// LeanDecimals is the code of the note about prices that are no shares'.
const LeanDecimals = "LEAN_DECIMALS"

var (
	leanTime     = regexp.MustCompile(`^\d{8} \d{2}:\d{2}$`)
	histDataTime = regexp.MustCompile(`^\d{8} \d{6}$`)
)

// lean returns the data folder of the engine. Shares are kept in whole ten-thousandths and
// New York's time. What has decimals is a currency, kept as it is and in UTC.
func lean(h Head) (Layout, bool, error) {
	cells := h.Cells(0)
	if len(cells) != 6 || !leanTime.MatchString(cells[0]) || h.Comma != ',' {
		return Layout{}, false, nil
	}
	l := byPosition()
	l.Times = []string{"20060102 15:04"}
	if h.hasPoint(0, l.At[openCell:tickCell]...) {
		l.Zone = time.UTC
		l.Notes = []Note{{LeanDecimals,
			"prices or volumes have decimals, as LEAN's currencies have: they are taken as they are and " +
				"times as UTC; --tz names another zone"}}
		return l, true, nil
	}
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		return l, true, err
	}
	l.Zone, l.Places = newYork, 4
	return l, true, nil
}

// histData has one clock for the whole year: New York's in winter.
func histData(h Head) (Layout, bool, error) {
	cells := h.Cells(0)
	if h.Comma != ';' || len(cells) != 6 || !histDataTime.MatchString(cells[0]) {
		return Layout{}, false, nil
	}
	l := byPosition()
	l.Times, l.Zone = []string{"20060102 150405"}, time.FixedZone("UTC-5", -5*3600)
	return l, true, nil
}

// binance returns the archive of the spot market. Times became microseconds in 2025.
func binance(h Head) (Layout, bool, error) {
	cells := h.Cells(0)
	return byPosition(), h.isRow() && len(cells) == 12 && whole(cells[6]) > whole(cells[0]), nil
}

// kraken calls Bitcoin XBT.
func kraken(h Head) (Layout, bool, error) {
	cells := h.Cells(0)
	l := byPosition()
	l.Alias = map[string]string{"XBT": "BTC"}
	return l, h.isRow() && len(cells) == 7 && whole(cells[0]) >= 0, nil
}

// ccxt returns rows of fetch_ohlcv in a file. Others put the close second, which nothing in a row tells.
func ccxt(h Head) (Layout, bool, error) {
	return byPosition(), h.Forced && h.isRow() && len(h.Cells(0)) == 6, nil
}

// whole returns a cell of digits, -1 for any other.
func whole(cell string) int64 {
	n, err := strconv.ParseInt(cell, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// hasPoint reports whether a cell in one of the columns has a decimal point, in the lines
// of the head from a line on.
func (h Head) hasPoint(line int, columns ...int) bool {
	for ; line < len(h.Lines); line++ {
		cells := h.Cells(line)
		for _, c := range columns {
			if c >= 0 && c < len(cells) && strings.Contains(cells[c], ".") {
				return true
			}
		}
	}
	return false
}

// cryptoDataDownload puts its address above the header. Unix times are seconds in some
// rows and milliseconds in others; older files have hours like 09-AM.
func cryptoDataDownload(h Head) (Layout, bool, error) {
	header := 0
	if len(h.Lines) > 0 && strings.Contains(strings.ToLower(h.Lines[0]), "cryptodatadownload.com") {
		h.Comma = ','
		header = 1
	} else if !h.Forced {
		return Layout{}, false, nil
	}
	names := h.Cells(header)
	if find(names, "symbol") < 0 {
		return Layout{}, false, nil
	}
	l := named(names)
	if unix := find(names, "unix", "unixtimestamp"); unix >= 0 {
		l.At[timeCell] = unix
	}
	l.Skip, l.Zone, l.Times = header+1, time.UTC, []string{"2006-01-02 03-PM"}
	return l, true, complete(h, header, l)
}

// tradingView names the symbol nowhere but in the file name, in a form of its own.
func tradingView(h Head) (Layout, bool, error) {
	names := h.Cells(0)
	if len(names) < 5 || !slices.Equal(names[:5], []string{"time", "open", "high", "low", "close"}) {
		return Layout{}, false, nil
	}
	return nameLayout(h, 0)
}

// yfinance has three lines of header: what a column is, of which ticker, and the name
// of the index.
func yfinance(h Head) (Layout, bool, error) {
	names, tickers, index := h.Cells(0), h.Cells(1), h.Cells(2)
	if find(names, "price") != 0 || find(tickers, "ticker") != 0 || find(index, "date", "datetime") != 0 {
		return Layout{}, false, nil
	}
	names = slices.Clone(names)
	if err := oneTicker(h, names, tickers); err != nil {
		return Layout{}, true, err
	}
	l := named(names)
	l.At[timeCell], l.Skip, l.Chosen = 0, 3, h.Ticker != ""
	return l, true, complete(h, 0, l)
}

// oneTicker blanks the names of the columns that are about other tickers than the one
// asked for.
func oneTicker(h Head, names, tickers []string) error {
	var all []string
	for i, t := range tickers {
		if i > 0 && t != "" && !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	if h.Ticker == "" && len(all) > 1 {
		return h.refuse(MultipleTickers, 1, "the file is about %s: give --ticker with one of them",
			quoteList(all))
	}
	if h.Ticker != "" && !slices.ContainsFunc(all, func(t string) bool {
		return strings.EqualFold(t, h.Ticker)
	}) {
		return h.refuse(NoRows, 1, "nothing in the file is about the ticker %s; there is %s", h.Ticker,
			quoteList(all))
	}
	for i := 1; i < len(names); i++ {
		if h.Ticker != "" && (i >= len(tickers) || !strings.EqualFold(tickers[i], h.Ticker)) {
			names[i] = ""
		}
	}
	return nil
}
