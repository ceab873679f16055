package stage

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/assay-run/assay/host/base/digest"
)

// maxReplays bounds the search for a minimal play; at most forParams of them are kept
// back for the parameters. The other 20 find the start among a million candles.
const (
	maxReplays = 30
	forParams  = 10
)

// probe says whether a play that begins at a candle, with these parameters, fails in
// the same way. Its error ends the search.
type probe func(start int64, params json.RawMessage) (fails bool, err error)

// found is the smallest play that a search has seen fail.
type found struct {
	start    int64
	params   map[string]json.RawMessage // those that are not the default
	replays  int
	complete bool
}

// search looks for the latest start in [0, index], then for the fewest parameters that
// differ from the defaults. It supposes that a play which fails from one candle also
// fails from every earlier one; where that is wrong it still ends at a play that fails.
// ok is false if not even the whole one does.
func search(index int64, params, defaults json.RawMessage, try probe) (f found, ok bool, err error) {
	all, err := differing(params, defaults)
	if err != nil {
		return f, false, err
	}
	f.params = all
	run := func(start int64, chosen map[string]json.RawMessage) (bool, error) {
		f.replays++
		text, err := with(defaults, chosen)
		if err != nil {
			return false, err
		}
		return try(start, text)
	}
	if fails, err := run(0, all); err != nil || !fails {
		return f, false, err
	}
	if err := f.latest(index, run); err != nil {
		return f, true, err
	}
	return f, true, f.fewest(run)
}

// latest halves the distance between a start that fails and one that does not.
func (f *found) latest(index int64, run func(int64, map[string]json.RawMessage) (bool, error)) error {
	budget := maxReplays - min(len(f.params)+1, forParams)
	for not := index + 1; not-f.start > 1 && f.replays < budget; {
		middle := f.start + (not-f.start)/2
		fails, err := run(middle, f.params)
		if err != nil {
			return err
		}
		if fails {
			f.start = middle
		} else {
			not = middle
		}
	}
	return nil
}

// fewest sets all parameters to their defaults, or else one after the other.
func (f *found) fewest(run func(int64, map[string]json.RawMessage) (bool, error)) error {
	keys := slices.Sorted(maps.Keys(f.params))
	if len(keys) > 1 {
		if none, err := f.try(map[string]json.RawMessage{}, run); err != nil || none {
			f.complete = none
			return err
		}
	}
	for _, key := range keys {
		less := maps.Clone(f.params)
		delete(less, key)
		if _, err := f.try(less, run); err != nil {
			return err
		}
	}
	f.complete = f.replays < maxReplays
	return nil
}

// try keeps fewer parameters if the play fails with them.
func (f *found) try(less map[string]json.RawMessage, run func(int64, map[string]json.RawMessage) (bool, error)) (bool, error) {
	if f.replays >= maxReplays {
		return false, nil
	}
	fails, err := run(f.start, less)
	if err == nil && fails {
		f.params = less
	}
	return fails, err
}

// differing are the parameters that are not the default.
func differing(params, defaults json.RawMessage) (map[string]json.RawMessage, error) {
	mine, err := object(params)
	if err != nil {
		return nil, err
	}
	theirs, err := object(defaults)
	if err != nil {
		return nil, err
	}
	for key, value := range mine {
		if string(theirs[key]) == string(value) {
			delete(mine, key)
		}
	}
	return mine, nil
}

// with is the defaults but for what is chosen.
func with(defaults json.RawMessage, chosen map[string]json.RawMessage) (json.RawMessage, error) {
	all, err := object(defaults)
	if err != nil {
		return nil, err
	}
	maps.Copy(all, chosen)
	return digest.JCS(all)
}

// object is a JSON object whose values are in canonical form.
func object(text json.RawMessage) (map[string]json.RawMessage, error) {
	canonical, err := digest.CanonicalJSON(text)
	if err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	return out, json.Unmarshal(canonical, &out)
}
