package cheats

import (
	"fmt"
	"strings"
)

// Example is a strategy of the battery at work.
type Example struct {
	// Does is what the program does, in a sentence; Says is what lab falsify says of it: of the tests that
	// the row names, else first.
	Does string
	Says []string
	// Varies reports whether it says other numbers each time or day.
	Varies bool
}

// Examples are the worked examples, by the id of their row.
var Examples = map[string]Example{
	"i": {Does: "Holds while the close is above the average of the last closes.",
		Says: []string{
			"Not shown: that its timing is better than chance, because by chance 2 of 19 did as " +
				"well (p = 0.15); see it with falsify/random_entry/replays.csv.",
			"Not shown: that it earns by patterns, not by drift alone, because by chance 0 of 19 " +
				"did as well (p = 0.05); p = 0.15 by Holm's rule for 3 p-values; see it with " +
				"falsify/permuted_candles/replays.csv.",
		}},
	"ii": {Does: "Trades the cross of two averages whose lengths stand in the program: the best of 100 " +
		"random pairs.",
		Says: []string{
			"Not shown: that nearby parameters do about as well, because it declares no " +
				"parameters, and the Go sources that its program was built from are not at hand.",
			"Not shown: that no single year or level of volatility carries the profit, because " +
				"81.4 % of the profit comes from 2020; see it with falsify/regime/regimes.csv.",
		}},
	"iii": {Does: "Has a table of the hours after which prices rose, and holds in them.",
		Says: []string{
			"Not shown: that decisions do not depend on price level, name or undeclared dates, " +
				"because with all times moved by 364 days the returns differ by up to 0.087: it " +
				"decides by the date; a rule about the day of the month or the season declares " +
				"Supports.Calendar: sdk.CalendarDate; see it with " +
				"falsify/metamorphic/first_diff.jsonl.",
			"Not shown: that its result is not too good to be true, because the annual Sharpe " +
				"ratio is 9.51, surely above 8.50, and with 98 trades a year no more than 2.87 is " +
				"believed: look for prices, or a model of them, inside the program.",
		}},
	"iii'a": {Does: "Has all prices inside, finds its place among them by the last day's returns, and " +
		"holds on days that it knows to rise. Each stake is the same.",
		Says: []string{
			"Not shown: that its result is not too good to be true, because the annual Sharpe " +
				"ratio is 8.40, surely above 6.71, and with 114 trades a year no more than 2.87 is " +
				"believed: look for prices, or a model of them, inside the program.",
		}},
	"iii'b": {Does: "The same with half of the cash, so that what it earns compounds.",
		Says: []string{
			"Not shown: that its result is not too good to be true, because the annual Sharpe " +
				"ratio is 9.45, surely above 7.90, and with 114 trades a year no more than 2.87 is " +
				"believed: look for prices, or a model of them, inside the program.",
		}},
	"iii'c": {Does: "Looks the last two returns up, to five places, and knows the six hours that follow.",
		Says: []string{
			"Not shown: that it does not look up exact prices, because with noise of 3 % of the " +
				"median true range the median Sharpe ratio is -2.23, its own 8.71; see it with " +
				"falsify/price_noise/replays.csv.",
			"Not shown: that its result is not too good to be true, because the annual Sharpe " +
				"ratio is 8.71, surely above 6.46, and with 829 trades a year no more than 4.32 is " +
				"believed: look for prices, or a model of them, inside the program.",
		}},
	"iii'd": {Does: "Uses what it knows at every other place, and a coin at the rest.",
		Says: []string{
			"Not shown: that nearby parameters do about as well, because it declares no " +
				"parameters, and the Go sources that its program was built from are not at hand.",
		}},
	"iv": {Does: "Has the dates of the best third of all weeks, and holds in them.",
		Says: []string{
			"Not shown: that decisions do not depend on price level, name or undeclared dates, " +
				"because with all times moved by 364 days the returns differ by up to 0.087: it " +
				"decides by the date; a rule about the day of the month or the season declares " +
				"Supports.Calendar: sdk.CalendarDate; see it with " +
				"falsify/metamorphic/first_diff.jsonl.",
			"Not shown: that its result is not too good to be true, because the annual Sharpe " +
				"ratio is 4.70, surely above 3.46, and with 11 trades a year no more than 2.87 is " +
				"believed: look for prices, or a model of them, inside the program.",
		}},
	"iv'": {Does: "Has a table of price levels, one percent apart, and holds at those after which prices " +
		"rose on average.",
		Says: []string{
			"Not shown: that it earns money at higher costs, because at doubled costs the net " +
				"result is -45.4 %; see it with falsify/cost_stress/costs.csv.",
			"Not shown: that its timing is better than chance, because by chance 2 of 19 did as " +
				"well (p = 0.15); see it with falsify/random_entry/replays.csv.",
		}},
	"v": {Does: "Doubles its position whenever the price falls a step below the average entry, and " +
		"sells all a step above it.",
		Says: []string{
			"Not shown: that no rare or open loss pays for its wins, because its position in " +
				"BTC/USDT of 2019-01-08 was added to 5 times, 5 of them while it was losing, until it " +
				"was 67.2 times its first order; see it with falsify/tails/positions.csv.",
		}},
	"v'": {Does: "Sells for a profit only, however long that takes.",
		Says: []string{
			"Not shown: that no rare or open loss pays for its wins, because 100.0 % of its trades " +
				"win, and its worst open loss is 40 times the average win; see it with " +
				"falsify/tails/positions.csv.",
		}},
	"vi": {Does: "Follows the average of row i, but leaves one decision in 2,000 to chance.", Varies: true},
	"vi'": {Does: "Holds every other day of the market, which ones by whether the machine's day of the " +
		"month is even.", Varies: true},
	"vii": {Does: "Holds, but for an hour now and then, so that it has trades.",
		Says: []string{
			"Not shown: that its timing is better than chance, because by chance 11 of 19 did as " +
				"well (p = 0.6); see it with falsify/random_entry/replays.csv.",
			"Not shown: that it is better than holding, because the mean daily difference lies " +
				"between -0.266 % and -0.121 %; see it with falsify/buy_and_hold/benchmark.csv.",
		}},
	"viii": {Does: "Holds while the volume is above its average, in a market in which prices rise after " +
		"much volume.",
		Says: []string{
			"Not shown: that its profit does not rest on lucky fills, because at the worse of open " +
				"and close the net result is -17.3 %; see it with falsify/intrabar_worst/replays.csv.",
			"Open: whether no single year or level of volatility carries the profit, because all " +
				"days are of one calendar year.",
		}},
	"viii'": {Does: "The same until 2027, when it buys for all that it has.",
		Says: []string{
			"Not shown: that decisions do not depend on price level, name or undeclared dates, " +
				"because with all times moved by 18201 days the returns differ by up to 0.1: it " +
				"decides by the weekday, or by the year; a rule about weekdays declares " +
				"Supports.Calendar: sdk.CalendarWeekday; see it with " +
				"falsify/metamorphic/first_diff.jsonl.",
		}},
	"ix": {Does: "Holds after patterns of rising and falling days that a random number has chosen, the " +
		"luckiest of 40,000.",
		Says: []string{
			"Not shown: that its timing is better than chance, because by chance 3 of 59 did as " +
				"well (p = 0.067); p = 0.133 by Holm's rule for 3 p-values; see it with " +
				"falsify/random_entry/replays.csv.",
		}},
	"x": {Does: "Holds from the 28th to the 3rd, and declares that it decides by the date.",
		Says: []string{
			"Not shown: that nearby parameters do about as well, because it declares no " +
				"parameters, and the Go sources that its program was built from are not at hand.",
			"Not shown: that its timing is better than chance, because by chance 1 of 59 did as " +
				"well (p = 0.033); p = 0.1 by Holm's rule for 3 p-values; see it with " +
				"falsify/random_entry/replays.csv.",
		}},
}

// Worked is the part of the page with the examples.
func Worked() string {
	var b strings.Builder
	for _, r := range Battery() {
		if r.Play == nil {
			continue
		}
		e, market := Examples[r.ID], "BTC/USDT"
		if r.Play.Tides {
			market = "made candles"
		}
		fmt.Fprintf(&b, "\n**%s, `%s`.** %s On hours of %s, %s to %s: %s.\n\n", r.ID, r.Play.Strategy, e.Does,
			market, r.Play.From, r.Play.To, r.Play.Overall)
		for i, line := range e.Says {
			if i > 0 {
				b.WriteString(">\n")
			}
			fmt.Fprintf(&b, "> %s\n", line)
		}
		if e.Varies {
			b.WriteString("> The numbers differ each time.\n")
		}
	}
	return b.String()
}
