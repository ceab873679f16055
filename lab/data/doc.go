// Package data is lab data: import, list and check candles.
package data
