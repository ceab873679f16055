package order

import "math/big"

// Transfer books cash that came to the run or left it otherwise than by a trade: it is neither gain nor loss.
func (l *Ledger) Transfer(amount dec) {
	l.cash, l.initial = plus(l.cash, exact(amount)), plus(l.initial, exact(amount))
}

// SetPrice says what an asset that is neither base nor quote is worth, in quote. Fees in it that had no value
// so far get that one. What the account holds of it is not the run's: the run owes so much of its cash for
// it.
func (l *Ledger) SetPrice(asset string, price dec) {
	l.prices[asset] = exact(price)
	if left := l.unvalued[asset]; left != nil {
		worth := times(left, l.prices[asset])
		l.cash, l.fees, l.valued = minus(l.cash, worth), plus(l.fees, worth), plus(l.valued, worth)
		delete(l.unvalued, asset)
	}
}

// Valued is what of the cash is owed for fees that the account paid in other assets: it is still there.
func (l *Ledger) Valued() dec { return toDec(l.valued) }

// Unvalued says whether fees in an asset have no value yet.
func (l *Ledger) Unvalued(asset string) bool { return l.unvalued[asset] != nil }

// thirdFee notes a fee in an asset that is neither base nor quote, with its value in quote if that is known.
func (l *Ledger) thirdFee(asset string, amount, worth *big.Rat) {
	l.third[asset] = plus(l.thirdOf(asset), amount)
	switch {
	case l.prices[asset] != nil:
		l.valued = plus(l.valued, worth)
	case amount.Sign() != 0:
		if l.unvalued[asset] == nil {
			l.unvalued[asset] = ratZero
		}
		l.unvalued[asset] = plus(l.unvalued[asset], amount)
	}
}
