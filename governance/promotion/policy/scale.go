package policy

import (
	"math/big"
	"strings"

	"github.com/assay-run/assay/governance/bundle"
)

// decimals is how many digits an amount has behind the point.
const decimals = 18

// Scale is what a stage allows of declared limits: capital, position and daily loss times
// the stage's share, a decimal of at most 1, exactly and cut off behind 18 decimals; an
// order no larger than a position.
func Scale(l bundle.Limits, share string) bundle.Limits {
	l.MaxCapital = times(l.MaxCapital, share)
	l.MaxPositionValue = times(l.MaxPositionValue, share)
	if l.MaxDailyLoss != "" {
		l.MaxDailyLoss = times(l.MaxDailyLoss, share)
	}
	if units(l.MaxOrderValue).Cmp(units(l.MaxPositionValue)) > 0 {
		l.MaxOrderValue = l.MaxPositionValue
	}
	return l
}

// units is an amount in units of its last possible digit.
func units(s string) *big.Int {
	whole, part, _ := strings.Cut(s, ".")
	part += strings.Repeat("0", max(0, decimals-len(part)))
	n, ok := new(big.Int).SetString(whole+part[:decimals], 10)
	if !ok {
		return new(big.Int)
	}
	return n
}

func times(amount, share string) string {
	one := new(big.Int).Exp(big.NewInt(10), big.NewInt(decimals), nil)
	n := new(big.Int).Mul(units(amount), units(share))
	n.Quo(n, one)
	whole, part := new(big.Int).QuoRem(n, one, new(big.Int))
	digits := part.String()
	digits = strings.TrimRight(strings.Repeat("0", decimals-len(digits))+digits, "0")
	if digits == "" {
		return whole.String()
	}
	return whole.String() + "." + digits
}
