package promotion

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assay-run/assay/governance/bundle"
)

// Status is how a revision stands in its stage.
type Status string

// The statuses. Eligible and Expired are derived when a state is read: a decision never
// names them.
const (
	Pending    Status = "pending"
	Active     Status = "active"
	Suspended  Status = "suspended"
	Rejected   Status = "rejected"
	Superseded Status = "superseded"
	Retired    Status = "retired"

	Eligible Status = "eligible" // only people are missing
	Expired  Status = "expired"  // a gate of the stage ran out
)

// Terminal says whether nothing changes this status any more.
func (s Status) Terminal() bool { return s == Rejected || s == Retired }

// Place is where a revision stands. Its text is "stage/status".
type Place struct {
	Stage  bundle.Stage
	Status Status
}

// String is the text of a place.
func (p Place) String() string { return string(p.Stage) + "/" + string(p.Status) }

// ParsePlace reads the text of a place.
func ParsePlace(s string) (Place, error) {
	stage, status, _ := strings.Cut(s, "/")
	p := Place{bundle.Stage(stage), Status(status)}
	known := bundle.Rank(p.Stage) >= 0 && slices.Contains([]Status{Pending, Active, Suspended, Rejected, Superseded, Retired}, p.Status)
	if !known {
		return Place{}, fmt.Errorf("%q is no stage with a status", s)
	}
	return p, nil
}

func stageNames(stages []bundle.Stage) []string {
	names := make([]string, len(stages))
	for i, s := range stages {
		names[i] = string(s)
	}
	return names
}
