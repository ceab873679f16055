package trade

import "github.com/assay-run/assay/lab/stat"

// Basis points of a notional.
const basisPoints = 10_000

// NetPnL is the profit before costs less base basis points of the notional that was
// turned over.
func NetPnL(gross, turnover, baseBps float64) float64 {
	return gross - float64(turnover*baseBps/basisPoints)
}

// BreakEvenBps are the costs, in basis points of the turnover, that eat up the profit
// before costs. The reason is NoTrades without turnover.
func BreakEvenBps(gross, turnover float64) (float64, stat.Reason) {
	if turnover == 0 {
		return 0, stat.NoTrades
	}
	return stat.Finite(gross / turnover * basisPoints)
}
