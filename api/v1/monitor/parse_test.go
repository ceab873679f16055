package monitor_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// series is one sample as a scraper sees it.
type series struct {
	name   string
	labels map[string]string
	value  float64
}

type family struct {
	name, kind, help string
	samples          []series
}

var (
	namePattern   = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*`)
	helpPattern   = regexp.MustCompile(`^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (\S.*)$`)
	typePattern   = regexp.MustCompile(`^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)$`)
	labelPattern  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"`)
	numberPattern = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
)

// parse reads text format 0.0.4 strictly: a family is HELP, TYPE and then its
// samples, without a gap; no family and no series comes twice; histograms add up.
func parse(text string) ([]family, error) {
	if !strings.HasSuffix(text, "\n") {
		return nil, fmt.Errorf("the last line has no end")
	}
	var out []family
	seen := map[string]bool{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i < len(lines); {
		help := helpPattern.FindStringSubmatch(lines[i])
		if help == nil || i+1 >= len(lines) {
			return nil, fmt.Errorf("line %d: want HELP: %s", i+1, lines[i])
		}
		kind := typePattern.FindStringSubmatch(lines[i+1])
		if kind == nil || kind[1] != help[1] {
			return nil, fmt.Errorf("line %d: want TYPE of %s: %s", i+2, help[1], lines[i+1])
		}
		f := family{name: kind[1], kind: kind[2], help: help[2]}
		if seen[f.name] {
			return nil, fmt.Errorf("family %s comes twice", f.name)
		}
		seen[f.name] = true
		for i += 2; i < len(lines) && !strings.HasPrefix(lines[i], "#"); i++ {
			s, err := parseSample(lines[i])
			if err != nil {
				return nil, fmt.Errorf("line %d: %w: %s", i+1, err, lines[i])
			}
			if err := f.add(s, seen); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
		if f.kind == "histogram" {
			if err := f.checkHistogram(); err != nil {
				return nil, err
			}
		}
		out = append(out, f)
	}
	return out, nil
}

func parseSample(line string) (series, error) {
	s := series{name: namePattern.FindString(line), labels: map[string]string{}}
	rest := line[len(s.name):]
	if strings.HasPrefix(rest, "{") {
		rest = rest[1:]
		for {
			m := labelPattern.FindStringSubmatch(rest)
			if m == nil {
				return s, fmt.Errorf("bad label at %q", rest)
			}
			if _, twice := s.labels[m[1]]; twice {
				return s, fmt.Errorf("label %s comes twice", m[1])
			}
			s.labels[m[1]] = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(m[2])
			rest = rest[len(m[0]):]
			if strings.HasPrefix(rest, "}") {
				rest = rest[1:]
				break
			}
			if !strings.HasPrefix(rest, ",") {
				return s, fmt.Errorf("want , or } at %q", rest)
			}
			rest = rest[1:]
		}
	}
	if s.name == "" || !strings.HasPrefix(rest, " ") || !numberPattern.MatchString(rest[1:]) {
		return s, fmt.Errorf("want a name, a space and a number")
	}
	var err error
	s.value, err = strconv.ParseFloat(rest[1:], 64)
	return s, err
}

func (f *family) add(s series, seen map[string]bool) error {
	suffix, ok := strings.CutPrefix(s.name, f.name)
	switch {
	case !ok, f.kind != "histogram" && suffix != "", f.kind == "histogram" && suffix != "_bucket" &&
		suffix != "_sum" && suffix != "_count":
		return fmt.Errorf("%s is in the family %s", s.name, f.name)
	case (suffix == "_bucket") != (s.labels["le"] != ""):
		return fmt.Errorf("%s: le belongs to buckets", s.name)
	case f.kind == "counter" && (s.value < 0 || !strings.HasSuffix(f.name, "_total")):
		return fmt.Errorf("%s: a counter is not negative and ends in _total", s.name)
	}
	key := s.name + fmt.Sprint(s.labels) // fmt sorts the keys of a map
	if seen[key] {
		return fmt.Errorf("series %s comes twice", key)
	}
	seen[key] = true
	f.samples = append(f.samples, s)
	return nil
}

func (f *family) checkHistogram() error {
	type state struct {
		le, last, count float64
		buckets, sums   int
	}
	all := map[string]*state{}
	for _, s := range f.samples {
		route := s.labels["route"]
		if all[route] == nil {
			all[route] = &state{le: math.Inf(-1), count: -1}
		}
		h := all[route]
		switch {
		case strings.HasSuffix(s.name, "_bucket"):
			le, err := strconv.ParseFloat(s.labels["le"], 64)
			if err != nil || le <= h.le || s.value < h.last {
				return fmt.Errorf("%s of %s: bucket %s after %g with %g after %g", f.name, route,
					s.labels["le"], h.le, s.value, h.last)
			}
			h.le, h.last = le, s.value
			h.buckets++
		case strings.HasSuffix(s.name, "_sum"):
			h.sums++
		default:
			h.count = s.value
		}
	}
	for route, h := range all {
		if !math.IsInf(h.le, 1) || h.count != h.last || h.sums != 1 {
			return fmt.Errorf("%s of %s: last bucket %g = %g, count %g, %d sums", f.name, route, h.le, h.last,
				h.count, h.sums)
		}
	}
	return nil
}
