package sim

// Semantics is the name of the rules that this simulator follows.
const Semantics = "bar-v1"

// revision numbers the rules within Semantics: it grows when a change shows in no
// scenario's ledger.
const revision = "1"

// outcomes is the hash of the digests in simtest/digests.golden: of the ledgers that
// the scenarios lead to. TestScenarioDigests writes it.
const outcomes = "5e2f1efec8d860b8"

// ID is the name and revision of the rules and a hash of what the scenarios lead to:
// two simulators with the same ID promise the same fills. The host compares it with
// the plugin's.
func ID() string { return Semantics + "/" + revision + "/" + outcomes }
