package market

// Stance is a set of what the position of a symbol can be.
type Stance uint8

// What a position can be.
const (
	StanceFlat Stance = 1 << iota
	StanceLong
	StanceShort

	// StanceAny is every one of them.
	StanceAny = StanceFlat | StanceLong | StanceShort
)

// Guard is a condition on an intent, judged when it is accepted and in the order of the list. An intent whose
// guard does not hold is dropped: it makes no order and is not rejected. An order that may open or add to a
// position is also dropped while another one of its symbol is working, unless EntryWorking is set.
type Guard struct {
	// Position is what the position of the intent's symbol must be; zero: anything.
	Position Stance `json:"position,omitzero"`
	// EntryWorking lets an entry through while another of its symbol is working.
	EntryWorking bool `json:"entry_working,omitzero"`
	// MaxEntries is how many orders may have built up the position or be working to, with this one; zero:
	// any.
	MaxEntries int `json:"max_entries,omitzero"`
	// MaxOpen is how many symbols may have a position or a working entry, with this one; zero: any.
	MaxOpen int `json:"max_open,omitzero"`
}

// IsValid reports whether its fields are within their bounds.
func (g *Guard) IsValid() bool {
	return g == nil || g.Position <= StanceAny && g.MaxEntries >= 0 && g.MaxOpen >= 0
}

// MayOpen reports whether an intent may open a position or add to one: a new order that does not only
// reduce. A sale opens nothing where shorts are not allowed.
func (in *Intent) MayOpen(shorts bool) bool {
	return in.Action == Submit && !in.Reduces() && (shorts || in.Side == Buy)
}
