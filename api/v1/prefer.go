package v1

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Prefer is what a client prefers, as far as it is understood. Negative means not
// asked for; values out of bounds are ignored like unknown preferences.
type Prefer struct {
	Wait   time.Duration
	Points int
	Rows   int
}

// ParsePrefer reads the Prefer headers (RFC 7240); the first of equal names counts.
func ParsePrefer(h http.Header) Prefer {
	p := Prefer{Wait: -1, Points: -1, Rows: -1}
	seen := map[string]bool{}
	for _, item := range strings.Split(strings.Join(h.Values("Prefer"), ","), ",") {
		item, _, _ = strings.Cut(item, ";")
		name, value, _ := strings.Cut(item, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		value = strings.TrimSpace(value)
		if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		p.set(name, value)
	}
	return p
}

func (p *Prefer) set(name, value string) {
	if value == "" || len(value) > 9 || strings.Trim(value, "0123456789") != "" {
		return
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		return
	}
	switch {
	case name == "wait" && n >= 1 && n <= 30:
		p.Wait = time.Duration(n) * time.Second
	case name == "points" && n >= 2 && n <= 4000:
		p.Points = n
	case name == "rows" && n <= 1000:
		p.Rows = n
	}
}

// AppliedWait is the Preference-Applied value of a wait.
func (p Prefer) AppliedWait() string {
	if p.Wait < 0 {
		return ""
	}
	return "wait=" + strconv.Itoa(int(p.Wait/time.Second))
}

// AppliedSampling is the Preference-Applied value of points and rows.
func (p Prefer) AppliedSampling() string {
	var out []string
	if p.Points >= 0 {
		out = append(out, "points="+strconv.Itoa(p.Points))
	}
	if p.Rows >= 0 {
		out = append(out, "rows="+strconv.Itoa(p.Rows))
	}
	return strings.Join(out, ", ")
}
