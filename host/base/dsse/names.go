package dsse

import "strings"

// TypeBase begins the predicate types of this project: names for ever, below an address that is
// its own. Nothing is fetched from there.
const TypeBase = "https://github.com/assay-run/assay/statement/"

// TypeRegistry is the payload type of a deployable registry.
const TypeRegistry = "application/vnd.assay.deployable-registry+json"

// The names in statements that were made before there were permanent ones.
const (
	oldTypeBase     = "https://assay.example/"
	oldTypeRegistry = "application/vnd.run-control.deployable-registry+json"
)

// PermanentType is the name that a predicate or payload type has today: that of an earlier
// version in its permanent form, and any other as it is. A statement of an earlier version keeps its
// bytes; only what it means is looked up by this.
func PermanentType(name string) string {
	if name == oldTypeRegistry {
		return TypeRegistry
	}
	if kind, old := strings.CutPrefix(name, oldTypeBase); old {
		return TypeBase + kind
	}
	return name
}

// EarlierType is the name that a predicate type of this project had before.
func EarlierType(name string) string {
	if kind, ours := strings.CutPrefix(name, TypeBase); ours {
		return oldTypeBase + kind
	}
	return name
}
