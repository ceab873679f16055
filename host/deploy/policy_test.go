package deploy

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestModes is the table of the option: what is asked, what is refused, what is said.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		mode       Mode
		configured bool
		asked      bool
		gated      bool // the registry decides
		health     string
	}{
		{Auto, false, false, false, "skip"}, {Auto, true, true, true, "pass"},
		{Off, false, false, false, "warn"}, {Off, true, false, false, "warn"},
		{Warn, false, false, false, "warn"}, {Warn, true, true, false, "warn"},
		{Enforce, true, true, true, "pass"},
	} {
		for _, good := range []bool{true, false} {
			s := &source{}
			s.answers(t, registryOf(nil, entryOf(nil)))
			if !good {
				s.answers(t, registryOf(nil, entryOf(tree{"status": "suspended"})))
			}
			p := policyOf(t, s, func(o *Options) {
				if o.Mode = c.mode; !c.configured {
					o.Source, o.Key = nil, nil
				}
			})
			if status, message := p.Health(""); status != c.health || message == "" {
				t.Errorf("%s, configured %v: health %s %s", c.mode, c.configured, status, message)
			}
			a, err := p.Admit(t.Context(), request())
			if (s.asked > 0) != c.asked || (err == nil) != (good || !c.gated) {
				t.Errorf("%s, configured %v, good %v: asked %d times, %v", c.mode, c.configured, good,
					s.asked, err)
			}
			if err != nil {
				continue
			}
			if a.Gated() != c.gated || (a.Ungated == "") != c.gated || (a.Limits.Capital != nil) != c.gated {
				t.Errorf("%s, configured %v, good %v: %+v", c.mode, c.configured, good, a)
			}
			if c.gated {
				continue
			}
			if status, message := p.Health(a.Ungated); status != "warn" || message != a.Ungated ||
				!strings.Contains(message, string(p.Mode())) {
				t.Errorf("%s: health of the run %s %s", c.mode, status, message)
			}
			if c.asked && strings.Contains(a.Ungated, "DEPLOYMENT_REVOKED") == good {
				t.Errorf("good %v, but %q is said", good, a.Ungated)
			}
		}
	}
	for _, o := range []Options{{Mode: Enforce}, {Mode: Auto, Source: &source{}},
		{Mode: Off, Source: &source{}}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is a policy", o)
		}
	}
	if _, err := ParseMode("Enforce"); err == nil {
		t.Error("Enforce is a mode")
	}
	if m, err := ParseMode("warn"); m != Warn || err != nil {
		t.Error(m, err)
	}
}

// TestWarnGoesOnWithoutThePlane: whoever only warns is not held up by the answer.
func TestWarnGoesOnWithoutThePlane(t *testing.T) {
	s := &source{err: errAway}
	a, err := policyOf(t, s, func(o *Options) { o.Mode = Warn }).Admit(t.Context(), request())
	if err != nil || !strings.Contains(a.Ungated, "REGISTRY_UNAVAILABLE") {
		t.Errorf("%+v %v", a, err)
	}
}

func TestFamilies(t *testing.T) {
	f, err := ParseFamilies([]string{"sma_cross=my.family", "b-b=x"})
	if err != nil || f.Of("sma_cross") != "my.family" || f.Of("b-b") != "x" || f.Of("a_b_c") != "a-b-c" ||
		Families(nil).Of("a_b") != "a-b" {
		t.Errorf("%v %v", f, err)
	}
	for _, bad := range []string{"", "a", "=a", "a=", "A=b", "a=B", "a=../b", "a=b=c", "a=b/c", "a=.b"} {
		if _, err := ParseFamilies([]string{bad}); err == nil {
			t.Errorf("%q is a family", bad)
		}
	}
	if _, err := ParseFamilies([]string{"a=b", "a=b"}); err == nil {
		t.Error("twice")
	}
	s := &source{}
	s.answers(t, registryOf(tree{"family_id": "mine"}, entryOf(nil)))
	if a, err := policyOf(t, s, func(o *Options) {
		o.Families = Families{"sma_cross": "mine"}
	}).Admit(t.Context(), request()); err != nil || a.Family != "mine" {
		t.Errorf("%+v %v", a, err)
	}
}

// silent is a plane that accepts a question and never answers.
type silent struct{}

func (silent) Registry(ctx context.Context, _ string, _ int64) ([]byte, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policyOf(t, nil, func(o *Options) { o.Source = silent{} })
		began := time.Now()
		if _, err := p.Admit(t.Context(), request()); codeOf(err) != RegistryUnavailable ||
			time.Since(began) != askTimeout {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errAway)
		if _, err := p.Admit(ctx, request()); !errors.Is(err, errAway) || codeOf(err) != "" {
			t.Errorf("the start was given up: %v", err)
		}
	})
}
