package engine

import (
	"slices"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// How many symbols have their fills read in one round: those where something happened, and some of the others
// in turn. With a round a minute that is at most 880 of the 6,000 weights that a minute has at Binance,
// however many symbols a run has.
const (
	mostStirred = 40
	mostInTurn  = 4
)

// fillReads is whose fills are to be read.
type fillReads struct {
	// stir are the symbols of which something has happened since their fills were read, in the order in which
	// it did.
	stir []market.Symbol
	// read is when the fills of a symbol were asked for last; next is the place of the one whose turn is
	// next.
	read map[market.Symbol]time.Time
	next int
}

// stirs notes that something has happened.
func (f *fillReads) stirs(s market.Symbol) {
	if !slices.Contains(f.stir, s) {
		f.stir = append(f.stir, s)
	}
}

// was notes that fills are known up to a time.
func (f *fillReads) was(s market.Symbol, asked time.Time) {
	if f.read == nil {
		f.read = map[market.Symbol]time.Time{}
	}
	f.read[s] = asked
	f.stir = slices.DeleteFunc(f.stir, func(t market.Symbol) bool { return t == s })
}

// stirredSymbols are the symbols where something may have happened unheard: those with orders that are not at their
// end too.
func (rc *recon) stirredSymbols() []market.Symbol {
	for _, o := range rc.books.desk.Book().Pending() {
		rc.stirs(o.Spec.Symbol)
	}
	return slices.Clone(rc.stir)
}

// symbolsInTurn are the symbols whose fills are read in this round.
func (rc *recon) symbolsInTurn() []market.Symbol {
	list := slices.Clone(rc.stir[:min(len(rc.stir), mostStirred)])
	for range min(mostInTurn, len(rc.cfg.Symbols)) {
		s := rc.cfg.Symbols[rc.next%len(rc.cfg.Symbols)]
		if rc.next++; !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// fillsSince is the time from which the fills of a symbol are not known: of its orders that are not at their end,
// and of the last look, with room for what came late.
func (rc *recon) fillsSince(s market.Symbol) time.Time {
	since := time.Now().Add(-2 * moneyEvery)
	if read, ok := rc.read[s]; ok && read.Add(-moneyEvery).Before(since) {
		since = read.Add(-moneyEvery)
	}
	for _, o := range rc.books.desk.Book().Pending() {
		if o.Spec.Symbol == s && o.Written.Before(since) {
			since = o.Written
		}
	}
	return since
}

// suspectFills has the fills read that could explain why balances are off, before that is called drift.
func (rc *recon) suspectFills(off map[string]dec) {
	if len(off) == 0 || rc.suspect == rc.books.trades {
		return
	}
	for _, s := range rc.cfg.Symbols {
		if _, is := off[s.Base()]; is {
			rc.stirs(s)
		}
	}
	for _, o := range rc.books.desk.Book().Pending() {
		rc.stirs(o.Spec.Symbol)
	}
}
