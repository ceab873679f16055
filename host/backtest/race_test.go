//go:build race

package backtest

const raceDetector = true
