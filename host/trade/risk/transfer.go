package risk

// Transfer moves what equity is measured by: money that came to the run or left it otherwise than by a trade
// is neither gain nor loss.
func (g *Guard) Transfer(amount dec) {
	a := exact(amount)
	g.start, g.peak = plus(g.start, a), plus(g.peak, a)
	g.day.base, g.day.last = plus(g.day.base, a), plus(g.day.last, a)
}
