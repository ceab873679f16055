package exchange

// certified is the compiled list: connectors that may trade real money, each with the one
// version that has passed every card of the conformance suite. A version gets here by its test
// calling conformance.Certify, which fails where this list says something else.
func certified() map[string]string {
	return map[string]string{"binance": "1.0.0"}
}

// Certified says whether a connector may trade real money: its id is in the compiled list with
// the version that it says it has.
func Certified(d Description) bool {
	version, listed := certified()[d.ID]
	return listed && version == d.Version && d.Kind == "native"
}
