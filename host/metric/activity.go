package metric

func activityMetrics() []Metric {
	return []Metric{
		{
			Key: "exposure", Unit: Ratio, Estimate: true,
			Doc:  "Mean over the steps of the sum of positions' notional over equity.",
			eval: func(f *facts) (float64, Reason) { return meanExposure(f.in.Curves), "" },
		},
		{
			Key: "time_in_market", Unit: Fraction, Estimate: true,
			Doc:  "Share of the steps with a position.",
			eval: func(f *facts) (float64, Reason) { return timeInMarket(f.in.Curves), "" },
		},
		{
			Key: "turnover", Unit: Ratio, Estimate: true,
			Doc:  "Notional of all fills over mean equity.",
			eval: func(f *facts) (float64, Reason) { return turnover(f.in) },
		},
		{
			Key: "fees_paid", Unit: Quote,
			Doc:  "Sum of the fees of all fills.",
			eval: func(f *facts) (float64, Reason) { return f.in.Totals.FeesPaid.Float64(), "" },
		},
		{
			Key: "slippage_paid", Unit: Quote,
			Doc:  "Sum over all fills of the distance from the reference price, times quantity.",
			eval: func(f *facts) (float64, Reason) { return f.in.Totals.SlippagePaid.Float64(), "" },
		},
		count("fill_count", "Executions.", func(t *Totals) int { return t.Fills }),
		count("order_count", "Orders, rejected ones included.", func(t *Totals) int { return t.Orders }),
		count("rejected_orders", "Orders that were rejected.", func(t *Totals) int { return t.RejectedOrders }),
		count("rejected_intents", "Cancels and replaces of something unknown or closed.", func(t *Totals) int { return t.RejectedIntents }),
		count("ambiguous_fills", "Fills that the candle alone can neither confirm nor rule out.", func(t *Totals) int { return t.AmbiguousFills }),
		count("open_trades", "Positions still open at the end; they are in no trade statistic.", func(t *Totals) int { return t.OpenTrades }),
	}
}

func count(key, doc string, of func(*Totals) int) Metric {
	return Metric{
		Key: key, Doc: doc, Unit: Count,
		eval: func(f *facts) (float64, Reason) { return float64(of(&f.in.Totals)), "" },
	}
}

// meanExposure leaves out steps with an equity <= 0, where a share of it has no meaning.
func meanExposure(curves []Curve) float64 {
	var sum compensated
	n := 0
	for i := range curves {
		for k, x := range curves[i].Exposure {
			if curves[i].Equity[k] > 0 {
				sum.add(x)
				n++
			}
		}
	}
	if n == 0 {
		return 0
	}
	return sum.value() / float64(n)
}

func timeInMarket(curves []Curve) float64 {
	in, n := 0, 0
	for i := range curves {
		for _, x := range curves[i].Exposure {
			if x != 0 {
				in++
			}
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return float64(in) / float64(n)
}

func turnover(in *Input) (float64, Reason) {
	var sum compensated
	n := 0
	for i := range in.Curves {
		for _, e := range in.Curves[i].Equity {
			sum.add(e)
			n++
		}
	}
	if sum.value() <= 0 {
		return 0, NotApplicable
	}
	return in.Totals.FillNotional.Float64() / (sum.value() / float64(n)), ""
}
