package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/translog"
)

// Witnesses are the witnesses of which need must have cosigned a seal before its days count for
// live. One that the principal Plane runs counts as none, as does one of a revision's own people.
type Witnesses struct {
	Need  int64     `json:"need" min:"1" max:"100"`
	Plane string    `json:"plane,omitempty"`
	Of    []Witness `json:"of" max:"100"`
}

// Witness is one witness: its verifier key, and who runs it where that is known.
type Witness struct {
	Key       string `json:"key" is:"filled"`
	Principal string `json:"principal,omitempty"`
	name      string
}

// readWitnesses reads the witnesses of a policy, nil where it has none.
func readWitnesses(r *field.Reader, o field.Object) *Witnesses {
	if !o.Has("witnesses") {
		return nil
	}
	w := &Witnesses{}
	one := r.Struct(o.Raw("witnesses"), o.At("witnesses"), w)
	if r.Failed() {
		return nil
	}
	var public []string
	for i := range w.Of {
		x := &w.Of[i]
		at := fmt.Sprintf("of/%d/key", i)
		key, err := translog.ParseWitnessKey(x.Key)
		if err != nil {
			one.FailAt(field.InvalidField, at, "%v", err)
			return nil
		}
		if slices.Contains(public, string(key.Public)) {
			one.FailAt(field.DuplicateItem, at, "the key of witness %s stands twice", key.Witness)
		}
		public = append(public, string(key.Public))
		x.Key, x.name = key.VKey(), key.Witness
	}
	if n := w.independent(); w.Need > n {
		one.Fail(field.InvalidField, "need",
			"is %d, and only %d independent witnesses are named: those of one principal are one, those "+
				"of the plane's none", w.Need, n)
	}
	return w
}

// independent is how many of the witnesses can count.
func (w *Witnesses) independent() int64 {
	n := int64(0)
	for i, x := range w.Of {
		if w.Plane != "" && bundle.SamePrincipal(x.Principal, w.Plane) {
			continue
		}
		if !slices.ContainsFunc(w.Of[:i], x.sameOwner) {
			n++
		}
	}
	return n
}

// sameOwner reports whether two witnesses are known to be run by one principal.
func (x Witness) sameOwner(o Witness) bool {
	return x.Principal != "" && bundle.SamePrincipal(x.Principal, o.Principal)
}

// Since is since when enough witnesses had seen something, by when each had, by its verifier key:
// the time of the last of those that were needed. It is zero while it is not enough, and lacking
// says which do not count and why. owns reports whether a principal is one of those that it is of.
// Without Witnesses any witness is enough.
func (w *Witnesses) Since(seen map[string]time.Time, owns func(principal string) bool) (
	since time.Time, lacking []string,
) {
	if w == nil {
		for _, at := range seen {
			if since.IsZero() || at.Before(since) {
				since = at
			}
		}
		return since, nil
	}
	var times []time.Time
	var counted []Witness
	for _, x := range w.Of {
		at, ok := seen[x.Key]
		switch {
		case w.Plane != "" && bundle.SamePrincipal(x.Principal, w.Plane):
			lacking = append(lacking, x.name+" (the plane's own)")
		case x.Principal != "" && owns(x.Principal):
			lacking = append(lacking, x.name+" (run by "+x.Principal+", whose revision it is)")
		case !ok:
			lacking = append(lacking, x.name)
		case slices.ContainsFunc(counted, x.sameOwner):
			i := slices.IndexFunc(counted, x.sameOwner)
			if at.Before(times[i]) {
				times[i] = at
			}
		default:
			counted, times = append(counted, x), append(times, at)
		}
	}
	if int64(len(times)) < w.Need {
		return time.Time{}, lacking
	}
	slices.SortFunc(times, time.Time.Compare)
	return times[w.Need-1], nil
}

// Unasked are the names of those whose keys are not in a list; none without Witnesses.
func (w *Witnesses) Unasked(keys []string) (names []string) {
	if w == nil {
		return nil
	}
	for _, x := range w.Of {
		if !slices.Contains(keys, x.Key) {
			names = append(names, x.name)
		}
	}
	return names
}

// unwitnessed says which cosignatures are missing.
func unwitnessed(lacking []string) string {
	return "its seal is not witnessed as the policy asks: no cosignature counts of " +
		strings.Join(lacking, ", ")
}
