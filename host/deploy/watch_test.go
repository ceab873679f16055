package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// scripted is a plane whose answer can be changed while a watch is on.
type scripted struct {
	mu sync.Mutex
	source
}

func (s *scripted) Registry(ctx context.Context, family string, from int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source.Registry(ctx, family, from)
}

func (s *scripted) set(change func(*source)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.source)
}

// day begins in the bubble's time: the registry of a step is valid for a day.
func registryNow(version int, at time.Time, entries ...tree) tree {
	return registryOf(tree{
		"registry_version": float64(version), "issued_at": at.UTC().Format(time.RFC3339),
		"expires_at": at.Add(24 * time.Hour).UTC().Format(time.RFC3339),
	}, entries...)
}

// watching starts a watch in the bubble and returns what it has told.
func watching(t *testing.T, mode Mode) (s *scripted, told func() string, end func()) {
	t.Helper()
	s = &scripted{}
	s.answers(t, registryNow(1, time.Now(), entryOf(nil)))
	p := policyOf(t, nil, func(o *Options) { o.Source, o.Mode, o.Now = s, mode, time.Now })
	a, err := p.Admit(t.Context(), request())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var events []string
	w := Watch{Policy: p, Admission: a, On: func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, fmt.Sprintf("%s %s", e.Act, e.Code))
		if e.Message == "" {
			t.Errorf("%s says nothing", e.Code)
		}
	}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	told = func() string {
		time.Sleep(WatchInterval)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		out := strings.Join(events, ", ")
		events = nil
		return out
	}
	return s, told, func() { cancel(); <-done }
}

func TestWatch(t *testing.T) {
	evidence := tree{"expires_at": "2000-01-02T00:00:00Z"} // a day into the bubble's time
	steps := []struct {
		name  string
		after time.Duration
		do    func(t *testing.T, s *source, version int)
		want  string
	}{
		{"nothing new", 0, nil, ""},
		{"away", 0, func(_ *testing.T, s *source, _ int) { s.err = errAway }, "alarm REGISTRY_UNAVAILABLE"},
		{"still away", 0, nil, ""},
		{"back, suspended", 0, answering(tree{"status": "suspended"}),
			"reduce DEPLOYMENT_SUSPENDED, clear REGISTRY_UNAVAILABLE"},
		{"still suspended", 0, nil, ""},
		{"away, suspended", 0, func(_ *testing.T, s *source, _ int) {
			s.err = errAway
		}, "alarm REGISTRY_UNAVAILABLE"},
		{"an old one", 0, func(t *testing.T, s *source, _ int) {
			s.answers(t, registryNow(1, time.Now(), entryOf(nil)))
		}, "alarm REGISTRY_ROLLBACK"},
		{"a forged one", 0, func(t *testing.T, s *source, _ int) {
			s.body = sign(t, registryNow(99, time.Now(), entryOf(tree{"kill": true})), key(t, "lab"),
				PayloadType)
		}, "alarm REGISTRY_SIGNATURE_INVALID"},
		{"active again", 0, answering(nil), "resume DEPLOYMENT_SUSPENDED, clear REGISTRY_SIGNATURE_INVALID"},
		{"expired and away", 25 * time.Hour, func(_ *testing.T, s *source, _ int) {
			s.err = errAway
		}, "alarm REGISTRY_UNAVAILABLE"},
		{"old evidence", 0, answering(evidence), "alarm DEPLOYMENT_EXPIRED"},
		{"killed while suspended", 0, answering(tree{"status": "suspended", "kill": true}),
			"stop DEPLOYMENT_REVOKED"},
		{"after the stop", 0, answering(nil), ""},
	}
	synctest.Test(t, func(t *testing.T) {
		s, told, end := watching(t, Enforce)
		defer end()
		for i, step := range steps {
			time.Sleep(step.after)
			told() // whatever the time that passed has brought
			if step.do != nil {
				s.set(func(s *source) { step.do(t, s, i+2) })
			}
			if got := told(); got != step.want {
				t.Errorf("%s: %q, want %q", step.name, got, step.want)
			}
		}
	})
}

// answering returns a plane that answers with one entry.
func answering(entry tree) func(*testing.T, *source, int) {
	return func(t *testing.T, s *source, version int) {
		s.answers(t, registryNow(version, time.Now(), entryOf(entry)))
	}
}

// TestWatchStops: each way to lose a deployment ends the run, whatever else is wrong.
func TestWatchStops(t *testing.T) {
	for name, entries := range map[string][]tree{
		"killed":  {entryOf(tree{"kill": true})},
		"revoked": {entryOf(tree{"status": "revoked", "expires_at": "2000-01-01T00:00:00Z"})},
		"demoted": {entryOf(tree{"modes": []any{"paper"}})}, "unknown": {entryOf(tree{"status": "paused"})},
		"gone": {}, "another deployment": {entryOf(tree{"deployable_id": "dep-2"})},
		"other lists": {entryOf(tree{"symbols": []any{"ETH/USDT"}})},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, told, end := watching(t, Auto)
			defer end()
			s.set(func(s *source) { s.answers(t, registryNow(2, time.Now(), entries...)) })
			if got := told(); got != "stop DEPLOYMENT_REVOKED" {
				t.Errorf("%s: %q", name, got)
			}
		})
	}
}

// TestWatchOnlyWarns: what never refuses a start never stops a run.
func TestWatchOnlyWarns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, told, end := watching(t, Warn)
		defer end()
		for _, c := range []struct {
			entry tree
			want  string
		}{
			{tree{"status": "suspended"}, "alarm DEPLOYMENT_SUSPENDED"},
			{tree{"kill": true}, "alarm DEPLOYMENT_REVOKED"}, {nil, "clear DEPLOYMENT_REVOKED"},
		} {
			s.set(func(s *source) { s.answers(t, registryNow(s.asked+2, time.Now(), entryOf(c.entry))) })
			if got := told(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s, told, end := watching(t, Off)
		if got := told(); got != "" || s.asked != 0 {
			t.Errorf("%q, asked %d times", got, s.asked)
		}
		end()
	})
}

// told is a Reporter that refuses some times.
type told struct {
	errs []error
	got  []Incident
}

func (r *told) Report(_ context.Context, i Incident) error {
	r.got = append(r.got, i)
	if len(r.errs) == 0 {
		return nil
	}
	err := r.errs[0]
	r.errs = r.errs[1:]
	return err
}

func TestRiskKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			errs  []error
			tries int
			after time.Duration
			ok    bool
		}{
			{nil, 1, 0, true},
			{slices.Repeat([]error{errAway}, 7), 8,
				1*time.Second + 2*time.Second + 4*time.Second + 8*time.Second + 16*time.Second + 2*30*
					time.Second, true},
			{[]error{errAway, fmt.Errorf("%w: X", ErrRefused)}, 2, time.Second, false},
		} {
			r := &told{errs: c.errs}
			p := policyOf(t, &source{}, func(o *Options) { o.Reporter = r })
			began := time.Now()
			err := p.RiskKill(t.Context(), &Admission{CandidateRevisionID: "cr-1"}, "svc_1", "drawdown 11 %")
			if (err == nil) != c.ok || len(r.got) != c.tries || time.Since(began) != c.after {
				t.Errorf("%v after %d tries and %v", err, len(r.got), time.Since(began))
			}
			if i := r.got[0]; i.ID != "risk-kill.svc_1" || i.CandidateRevisionID != "cr-1" ||
				i.Reason != "drawdown 11 %" || !i.At.Equal(now) {
				t.Errorf("%+v", i)
			}
		}
		r := &told{errs: slices.Repeat([]error{errAway}, 100)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := policyOf(t, &source{}, func(o *Options) {
			o.Reporter = r
		}).RiskKill(ctx, &Admission{CandidateRevisionID: "cr-1"}, "svc_1", "x")
		if !errors.Is(err, errAway) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		// of no known revision; nobody to tell
		for _, a := range []*Admission{{}, {CandidateRevisionID: "cr-1"}} {
			if err := policyOf(t, &source{}).RiskKill(t.Context(), a, "svc_1", "x"); err != nil {
				t.Error(err)
			}
		}
	})
}
