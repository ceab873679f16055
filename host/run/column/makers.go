package column

import (
	"math"
	"time"

	"github.com/assay-run/assay/plugin-sdk/indicator"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// args are the arguments of an indicator, read in their order.
type args struct {
	list  []float64
	shape string
	taken int
	bad   bool
}

// float is the next argument.
func (a *args) float() float64 {
	a.taken++
	if a.taken > len(a.list) {
		a.bad = true
		return 1
	}
	return a.list[a.taken-1]
}

// n is the next argument, a period.
func (a *args) n() int {
	x := a.float()
	if !(x >= 1 && x <= maxPeriod) || x != math.Trunc(x) {
		a.bad = true
		return 1
	}
	return int(x)
}

// length is the next argument, a length of time; 0 is without end.
func (a *args) length() time.Duration {
	x := a.float()
	if !(x >= 0 && x <= math.MaxInt64/1e6) || x != math.Trunc(x) {
		a.bad = true
		return time.Millisecond
	}
	return time.Duration(x) * time.Millisecond
}

func ofPrice(add func(float64), lines ...indicator.Line) made { return made{price: add, lines: lines} }

func ofCandle(add func(market.Candle), lines ...indicator.Line) made {
	return made{candle: add, lines: lines}
}

func ofPair(add func(x, y float64), lines ...indicator.Line) made {
	return made{pair: add, lines: lines}
}

// makers make the indicators of the SDK by the names that they have in Python. Their arguments and lines are
// in the order of that class, the lines of assay.indicators.fed.
var makers = map[string]func(*args) made{
	"Track": func(*args) made { v := indicator.Track{}; return ofPrice(v.Add, &v) },
	"SMA":   func(a *args) made { v := indicator.NewSMA(a.n()); return ofPrice(v.Add, &v) },
	"EMA":   func(a *args) made { v := indicator.NewEMA(a.n()); return ofPrice(v.Add, &v) },
	"WMA":   func(a *args) made { v := indicator.NewWMA(a.n()); return ofPrice(v.Add, &v) },
	"DEMA":  func(a *args) made { v := indicator.NewDEMA(a.n()); return ofPrice(v.Add, &v) },
	"TEMA":  func(a *args) made { v := indicator.NewTEMA(a.n()); return ofPrice(v.Add, &v) },
	"HMA":   func(a *args) made { v := indicator.NewHMA(a.n()); return ofPrice(v.Add, &v) },
	"KAMA":  func(a *args) made { v := indicator.NewKAMA(a.n(), a.n(), a.n()); return ofPrice(v.Add, &v) },
	"MACD": func(a *args) made {
		v := indicator.NewMACD(a.n(), a.n(), a.n())
		return ofPrice(v.Add, &v, v.SignalLine(), v.HistogramLine())
	},
	"RSI":     func(a *args) made { v := indicator.NewRSI(a.n()); return ofPrice(v.Add, &v) },
	"ROC":     func(a *args) made { v := indicator.NewROC(a.n()); return ofPrice(v.Add, &v) },
	"StdDev":  func(a *args) made { v := indicator.NewStdDev(a.n()); return ofPrice(v.Add, &v) },
	"Highest": func(a *args) made { v := indicator.NewHighest(a.n()); return ofPrice(v.Add, &v) },
	"Lowest":  func(a *args) made { v := indicator.NewLowest(a.n()); return ofPrice(v.Add, &v) },
	"Bollinger": func(a *args) made {
		v := indicator.NewBollinger(a.n(), a.float())
		return ofPrice(v.Add, &v, v.UpperLine(), v.LowerLine())
	},
	"StochRSI": func(a *args) made {
		v := indicator.NewStochRSI(a.n(), a.n(), a.n(), a.n())
		return ofPrice(v.Add, &v, v.DLine())
	},
	"LinearRegression": func(a *args) made {
		v := indicator.NewLinearRegression(a.n())
		return ofPrice(v.Add, &v, v.SlopeLine(), v.R2Line())
	},
	"ZScore": func(a *args) made { v := indicator.NewZScore(a.n()); return ofPrice(v.Add, &v) },
	"Quantile": func(a *args) made {
		v := indicator.NewQuantile(a.n(), a.float())
		return ofPrice(v.Add, &v)
	},
	"RealizedVolatility": func(a *args) made {
		v := indicator.NewRealizedVolatility(a.n(), a.float())
		return ofPrice(v.Add, &v)
	},
	"Correlation": func(a *args) made { v := indicator.NewCorrelation(a.n()); return ofPair(v.Add, &v) },
	"Beta":        func(a *args) made { v := indicator.NewBeta(a.n()); return ofPair(v.Add, &v) },
	"ATR":         func(a *args) made { v := indicator.NewATR(a.n()); return ofCandle(v.Add, &v) },
	"Donchian": func(a *args) made {
		v := indicator.NewDonchian(a.n())
		return ofCandle(v.Add, &v, v.UpperLine(), v.LowerLine())
	},
	"VWAP": func(a *args) made { v := indicator.NewVWAP(a.n()); return ofCandle(v.Add, &v) },
	"Stochastic": func(a *args) made {
		v := indicator.NewStochastic(a.n(), a.n(), a.n())
		return ofCandle(v.Add, &v, v.DLine())
	},
	"WilliamsR": func(a *args) made { v := indicator.NewWilliamsR(a.n()); return ofCandle(v.Add, &v) },
	"CCI":       func(a *args) made { v := indicator.NewCCI(a.n()); return ofCandle(v.Add, &v) },
	"ADX": func(a *args) made {
		v := indicator.NewADX(a.n())
		return ofCandle(v.Add, &v, v.PlusLine(), v.MinusLine())
	},
	"Aroon": func(a *args) made {
		v := indicator.NewAroon(a.n())
		return ofCandle(v.Add, &v, v.UpLine(), v.DownLine())
	},
	"SuperTrend": func(a *args) made {
		v := indicator.NewSuperTrend(a.n(), a.float())
		return ofCandle(v.Add, &v)
	},
	"Keltner": func(a *args) made {
		v := indicator.NewKeltner(a.n(), a.n(), a.float())
		return ofCandle(v.Add, &v, v.UpperLine(), v.LowerLine())
	},
	"Ichimoku": func(a *args) made {
		v := indicator.NewIchimoku(a.n(), a.n(), a.n())
		return ofCandle(v.Add, &v, v.BaseLine(), v.SpanALine(), v.SpanBLine())
	},
	"MFI": func(a *args) made { v := indicator.NewMFI(a.n()); return ofCandle(v.Add, &v) },
	"CMF": func(a *args) made { v := indicator.NewCMF(a.n()); return ofCandle(v.Add, &v) },
	"ParabolicSAR": func(a *args) made {
		v := indicator.NewParabolicSAR(a.float(), a.float())
		return ofCandle(v.Add, &v)
	},
	"OBV": func(*args) made { v := indicator.NewOBV(); return ofCandle(v.Add, &v) },
	"SessionVWAP": func(a *args) made {
		v := indicator.NewCumulativeVWAP()
		if length := a.length(); length > 0 {
			v = indicator.NewSessionVWAP(length)
		}
		return ofCandle(v.Add, &v)
	},
	"HeikinAshi": func(*args) made {
		v := indicator.NewHeikinAshi()
		// The volume of the candle stands beside the lines: Python's bar has it.
		var volume indicator.Track
		add := func(c market.Candle) { v.Add(c); volume.Add(c.Volume) }
		return ofCandle(add, &v, v.OpenLine(), v.HighLine(), v.LowLine(), &volume)
	},
	"Pivots": func(a *args) made {
		v := indicator.NewPivots(a.length())
		return ofCandle(v.Add, &v, v.Resistance(1), v.Resistance(2), v.Resistance(3), v.Support(1),
			v.Support(2), v.Support(3))
	},
	"Pattern": func(a *args) made {
		v := indicator.NewPattern(indicator.Shape(a.shape))
		return ofCandle(v.Add, &v)
	},
}
