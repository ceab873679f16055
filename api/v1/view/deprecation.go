// Package deprecation reads the registry of what is going away. The file
// api/v1/deprecations.json is the only source: the response headers, /meta, the
// OpenAPI document's marks and the page /docs/deprecations all come from it.
//
// It imports plugin-sdk/market for times.
package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// MinimumNotice is the shortest time between announcement and sunset.
const MinimumNotice = 90 * 24 * time.Hour

// Deprecation is one deprecated endpoint, field or enum value.
type Deprecation struct {
	ID            string      `json:"id"`
	Kind          string      `json:"kind"`
	Method        string      `json:"method"`
	Path          string      `json:"path"`
	Field         *string     `json:"field"`
	AnnouncedAt   market.Time `json:"announced_at"`
	DeprecatedAt  market.Time `json:"deprecated_at"`
	SunsetAt      market.Time `json:"sunset_at"`
	NoticeDays    int         `json:"notice_days"`
	Replacement   *Successor  `json:"replacement"`
	Message       string      `json:"message"`
	Documentation string      `json:"documentation"`
}

// Successor is what to use instead.
type Successor struct {
	Method string `json:"method"`
	Path   string `json:"path"`
}

// Deprecations is every deprecation, in the order of the file.
type Deprecations struct {
	entries []Deprecation
}

// ParseDeprecations reads the file. Notice days and documentation are computed, not written.
func ParseDeprecations(data []byte) (*Deprecations, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	entries := []Deprecation{}
	if err := dec.Decode(&entries); err != nil {
		return nil, fmt.Errorf("deprecations: %w", err)
	}
	seen := map[string]bool{}
	for i := range entries {
		e := &entries[i]
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("deprecations: entry %d (%s): %w", i, e.ID, err)
		}
		if seen[e.ID] {
			return nil, fmt.Errorf("deprecations: id %s is used twice", e.ID)
		}
		seen[e.ID] = true
		e.NoticeDays = int(e.SunsetAt.Time().Sub(e.AnnouncedAt.Time()) / (24 * time.Hour))
		e.Documentation = "/docs/deprecations#" + e.ID
	}
	return &Deprecations{entries: entries}, nil
}

func (e *Deprecation) check() error {
	switch {
	case e.ID == "":
		return fmt.Errorf("id is missing")
	case e.Kind != "endpoint" && e.Kind != "field" && e.Kind != "enum_value":
		return fmt.Errorf("kind %q is not endpoint, field or enum_value", e.Kind)
	case e.Method == "" || e.Path == "":
		return fmt.Errorf("method and path are required")
	case (e.Field == nil) != (e.Kind == "endpoint"):
		return fmt.Errorf("field belongs to the kinds field and enum_value, and only to them")
	case e.AnnouncedAt == 0 || e.DeprecatedAt == 0 || e.SunsetAt == 0:
		return fmt.Errorf("announced_at, deprecated_at and sunset_at are required")
	case e.SunsetAt.Time().Sub(e.AnnouncedAt.Time()) < MinimumNotice:
		return fmt.Errorf("sunset_at must be at least 90 days after announced_at")
	case e.SunsetAt < e.DeprecatedAt:
		return fmt.Errorf("sunset_at must not be before deprecated_at")
	}
	return nil
}

// Entries is the whole list, never nil.
func (r *Deprecations) Entries() []Deprecation {
	if r == nil || r.entries == nil {
		return []Deprecation{}
	}
	return r.entries
}

// Endpoint is the entry of a deprecated operation, or nil.
func (r *Deprecations) Endpoint(method, path string) *Deprecation {
	if r == nil {
		return nil
	}
	for i := range r.entries {
		if e := &r.entries[i]; e.Kind == "endpoint" && e.Method == method && e.Path == path {
			return e
		}
	}
	return nil
}

// SetHeaders announces the deprecation on a response.
func (e *Deprecation) SetHeaders(h http.Header) {
	h.Set("Deprecation", "@"+strconv.FormatInt(e.DeprecatedAt.Time().Unix(), 10))
	h.Set("Sunset", e.SunsetAt.Time().Format(http.TimeFormat))
	link := fmt.Sprintf(`<%s>; rel="deprecation"`, e.Documentation)
	if e.Replacement != nil {
		link += fmt.Sprintf(`, <%s>; rel="successor-version"`, e.Replacement.Path)
	}
	h.Set("Link", link)
}

// Gone says whether the sunset has passed.
func (e *Deprecation) Gone(now time.Time) bool { return !now.Before(e.SunsetAt.Time()) }
