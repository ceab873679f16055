package indicator_test

import (
	"fmt"

	"github.com/assay-run/assay/plugin-sdk/indicator"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// A strategy keeps its indicators in its struct, feeds all of them on every candle and
// then asks.
func Example() {
	s := struct{ fast, slow indicator.SMA }{indicator.NewSMA(2), indicator.NewSMA(4)}
	for i, price := range []float64{10, 9, 8, 7, 8, 10, 11, 8, 6} {
		s.fast.Add(price)
		s.slow.Add(price)
		switch {
		case s.fast.CrossedAbove(&s.slow):
			fmt.Printf("candle %d: above, %.2f > %.2f\n", i, s.fast.Value(), s.slow.Value())
		case s.fast.CrossedBelow(&s.slow):
			fmt.Printf("candle %d: below, %.2f < %.2f\n", i, s.fast.Value(), s.slow.Value())
		}
	}
	// Output:
	// candle 5: above, 9.00 > 8.25
	// candle 8: below, 7.00 < 8.75
}

// Track turns the price itself into a line, here to see it leave yesterday's channel.
func ExampleTrack() {
	var price indicator.Track
	bands := indicator.NewBollinger(5, 1.5)
	for i, x := range []float64{10, 11, 10, 11, 10, 11, 15, 12} {
		price.Add(x)
		bands.Add(x)
		if price.CrossedAbove(bands.UpperLine()) {
			fmt.Printf("candle %d: %g is above %.2f\n", i, x, bands.Upper())
		}
	}
	// Output: candle 6: 15 is above 14.18
}

// A breakout compares the close with the channel as it was before this candle.
func ExampleDonchian() {
	channel := indicator.NewDonchian(3)
	for i, c := range []market.Candle{
		{High: 11, Low: 9, Close: 10}, {High: 12, Low: 10, Close: 11}, {High: 12, Low: 9, Close: 10},
		{High: 12, Low: 11, Close: 12}, {High: 14, Low: 12, Close: 13},
	} {
		channel.Add(c)
		if channel.UpperLine().Count() > 1 && c.Close > channel.UpperLine().Previous() {
			fmt.Printf("candle %d: %g breaks out of %g\n", i, c.Close, channel.UpperLine().Previous())
		}
	}
	// Output: candle 4: 13 breaks out of 12
}

func ExampleRSI_levels() {
	rsi := indicator.NewRSI(2)
	for i, price := range []float64{10, 9, 8, 7, 9, 12, 11} {
		rsi.Add(price)
		if rsi.CrossedAboveLevel(30) {
			fmt.Printf("candle %d: %.1f, out of oversold\n", i, rsi.Value())
		}
	}
	// Output: candle 4: 66.7, out of oversold
}

// Indicators of candles take smoothed ones as well.
func ExampleHeikinAshi() {
	smooth, stop := indicator.NewHeikinAshi(), indicator.NewSuperTrend(2, 1)
	for i, price := range []float64{10, 12, 14, 15, 9, 8, 7} {
		smooth.Add(market.Candle{Open: price, High: price + 1, Low: price - 1, Close: price})
		if stop.Add(smooth.Candle()); stop.Ready() {
			fmt.Printf("candle %d: long %v, stop %.2f\n", i, stop.Long(), stop.Value())
		}
	}
	// Output:
	// candle 2: long true, stop 9.50
	// candle 3: long true, stop 10.75
	// candle 4: long false, stop 16.12
	// candle 5: long false, stop 14.00
	// candle 6: long false, stop 12.09
}
