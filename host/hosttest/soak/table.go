package soak

// Figure is one line of the table of figures: how many of something make test does at least, and
// how many make soak.
type Figure struct {
	Name       string
	Test, Soak int
}

// Table is the figures that both are held to. Tests count more of them than stand here.
func Table() []Figure {
	return []Figure{
		{"model histories", 20_000, 1_000_000},
		{"mutants", 12, 12},
		{"SIGKILLs at labels", 40, 2_000},
		{"SIGKILLs in the journal", 50, 1_000},
		{"network and body faults", 60, 100},
		{"disk faults", 12, 50},
		{"feed scripts", 200, 5_000},
		{"random stops", 200, 10_000},
		{"random markets rounded", 100_000, 10_000_000},
		{"strategies equal on paper", 205, 205},
		{"days of 1m candles", 30, 365},
		{"conformance cards, binance", 65, 1_300},
		// The other half needs faults of the network, credentials and an account that outlives its session.
		{"conformance cards, sim", 31, 620},
		{"conformance cards, sim over the wire", 31, 620},
	}
}
