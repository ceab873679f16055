package cscv

// MostBlocks is the largest S that is computed: 184,756 choices.
const MostBlocks = 20

// Choices is C(s, s/2), how many ways there are to choose half of s blocks, for an even
// s in 2..66; 0 for any other, whose count does not exist or does not fit an int64.
func Choices(s int) int64 {
	if s < 2 || s > 66 || s%2 != 0 {
		return 0
	}
	c := int64(1)
	for i := 1; i <= s/2; i++ {
		// C(s, i) = C(s, i-1) (s-i+1) / i, divided first so that nothing overflows.
		num, den := int64(s-i+1), int64(i)
		g := gcd(num, den)
		num, den = num/g, den/g
		c = c / den * num
	}
	return c
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// halves calls use with every choice of s/2 of 0..s-1 in lexicographic order, as a flag
// per block; use must not keep the slice.
func halves(s int, use func(inside []bool)) {
	inside := make([]bool, s)
	var choose func(from, left int)
	choose = func(from, left int) {
		if left == 0 {
			use(inside)
			return
		}
		for i := from; i <= s-left; i++ {
			inside[i] = true
			choose(i+1, left-1)
			inside[i] = false
		}
	}
	choose(0, s/2)
}
