package deploy

import (
	"fmt"
	"regexp"
	"strings"
)

// Mode is the option --deployment-policy.
type Mode string

// The modes. Auto enforces where a control plane is configured and warns elsewhere.
const (
	Auto    Mode = "auto"
	Off     Mode = "off"
	Warn    Mode = "warn"
	Enforce Mode = "enforce"
)

// ParseMode reads the option.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case Auto, Off, Warn, Enforce:
		return m, nil
	}
	return "", fmt.Errorf("%q is not a policy: write auto, off, warn or enforce", s)
}

// Effective is what a mode comes to: off, warn or enforce.
func (m Mode) Effective(configured bool) Mode {
	switch {
	case m == Off || m == Warn || m == Enforce:
		return m
	case configured:
		return Enforce
	}
	return Warn
}

var (
	strategyName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
	familyID     = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,127}$`)
)

// Families are the families of strategies that are not called like them, by strategy name.
type Families map[string]string

// ParseFamilies reads the values of --strategy-family, each name=family.
func ParseFamilies(list []string) (Families, error) {
	out := Families{}
	for _, s := range list {
		name, family, _ := strings.Cut(s, "=")
		switch _, twice := out[name]; {
		case !strategyName.MatchString(name) || !familyID.MatchString(family):
			return nil, fmt.Errorf("%q is not name=family: write the name of a strategy and the id of its family, such as sma_cross=sma-cross", s)
		case twice:
			return nil, fmt.Errorf("strategy %s is given two families", name)
		}
		out[name] = family
	}
	return out, nil
}

// Of is the family of a strategy: the one given, else its name with - for _.
func (f Families) Of(strategy string) string {
	if family, ok := f[strategy]; ok {
		return family
	}
	return strings.ReplaceAll(strategy, "_", "-")
}
