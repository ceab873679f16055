package family

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/family/plan"
	"github.com/assay-run/assay/lab/project"
)

// Search is a registered plan whose inputs are what they were.
type Search struct {
	*plan.File
	// Dir is the folder of plan.json and of everything that is put out.
	Dir string
	// Windows is how many walk-forward windows there are.
	Windows int
	// Departs says that lab.json says otherwise than the plan by now; the plan's rules are
	// used.
	Departs bool

	host  *evaluate.Host     // for one trial at a time
	whole *evaluate.Host     // for the selected run
	base  *evaluate.Prepared // owns the program
	root  *evaluate.Prepared // trial 0 by the plan's rules
}

// Find reads the plan that a name stands for, its id, its hash or their beginning; the
// newest one of the strategy if it is empty. The error is an *evaluate.Error:
// PLAN_NOT_FOUND, or PLAN_HASH_MISMATCH when plan.json is not what was registered.
func Find(ctx context.Context, h *evaluate.Host, slug, name string) (*plan.File, error) {
	if err := project.CheckSlug(slug); err != nil {
		return nil, err
	}
	if name == "" {
		newest, err := h.Registry.NewestPlan(ctx, slug)
		if err != nil {
			return nil, err
		}
		if name = newest; name == "" {
			return nil, &evaluate.Error{
				Code: "PLAN_NOT_FOUND", Details: map[string]any{"flag": "<slug>"},
				Message: fmt.Sprintf("no search of %s is planned: lab family plan %s plans one", slug, slug),
			}
		}
	}
	row, err := find(ctx, h, slug, name, "--plan")
	if err != nil {
		return nil, err
	}
	return plan.Read(h.StateDir, slug, row.Hash)
}

// Open makes sure that the plugin, the engine, the candles and the splits are those of
// the plan, else the error is PLAN_INPUTS_CHANGED. Close must be called.
func Open(ctx context.Context, h *evaluate.Host, p *project.Project, built project.Built, f *plan.File) (_ *Search, err error) {
	var then artifact.Request
	if err := json.Unmarshal(f.Plan.Request, &then); err != nil {
		return nil, err
	}
	params, err := f.Plan.Params(0)
	if err != nil {
		return nil, err
	}
	changed := (&changes{}).note("plugin", then.Inputs.PluginSHA256, built.SHA256).note("engine", then.Inputs.Engine.SHA256, h.Engine.SHA256)
	base, err := h.Prepare(ctx, question(p, built, params))
	if err != nil {
		// Of another program or window anything may be wrong.
		return nil, firstError(changed.err(f), err)
	}
	defer func() {
		if err != nil {
			base.Close()
		}
	}()
	now := &base.Manifest.Request
	for _, part := range []struct {
		name    string
		was, is any
	}{
		{"data", then.Inputs.Data, now.Inputs.Data},
		{"metrics", then.Inputs.Engine.Metrics, now.Inputs.Engine.Metrics},
		{"statistics", then.Inputs.Engine.Statistics, now.Inputs.Engine.Statistics},
		{"protocol", strconv.Itoa(then.Inputs.ProtocolVersion), strconv.Itoa(now.Inputs.ProtocolVersion)},
		{"splits", then.Splits.SHA256, now.Splits.SHA256},
	} {
		if err := changed.compare(part.name, part.was, part.is); err != nil {
			return nil, err
		}
	}
	if err := changed.err(f); err != nil {
		return nil, err
	}
	s := &Search{File: f, Dir: plan.Dir(h.StateDir, f.Plan.Slug, f.ID), base: base, whole: h}
	one := *h
	one.Workers, one.Procs, one.Plain = 1, 1, true
	s.host = &one
	if s.root, err = h.Vary(base, func(q *evaluate.Question) { s.rules(q, &then) }); err != nil {
		return nil, err
	}
	s.Windows = s.root.Windows()
	if s.Departs, err = s.departs(now); err != nil {
		return nil, err
	}
	same, err := s.departs(&s.root.Manifest.Request)
	if err == nil && same {
		err = changed.note("request", f.Hash, "what lab.json and this program make of it").err(f)
	}
	return s, err
}

// Candles is how many there are from the first to the last of the search.
func (s *Search) Candles() int { return s.root.Manifest.Splits.Candles }

// Close ends what is left of the plugin.
func (s *Search) Close() { s.base.Close() }

// rules puts the plan's rules in the place of those of lab.json.
func (s *Search) rules(q *evaluate.Question, r *artifact.Request) {
	q.Exchange, q.InitialCash, q.Execution, q.Stress = r.Exchange, r.InitialCash, r.Execution, r.Stress
	q.FamilyID = r.FamilyID
	_, _ = fmt.Sscan(r.Seed, &q.Seed) // of a request that was canonical
}

// departs says whether a request differs from the plan's, parameters left out: those of a
// trial are no part of it.
func (s *Search) departs(r *artifact.Request) (bool, error) {
	fixed, err := s.Plan.Fixed()
	if err != nil {
		return false, err
	}
	asked := *r
	asked.StrategyParams = fixed
	text, err := asked.Canonical()
	return !bytes.Equal(text, s.Plan.Request), err
}

// trial is the question of one trial over the first windows.
func (s *Search) trial(index, windows int) (*evaluate.Prepared, error) {
	params, err := s.Plan.Params(index)
	if err != nil {
		return nil, err
	}
	if windows == s.Windows {
		windows = 0
	}
	return s.host.Vary(s.root, func(q *evaluate.Question) { q.Params, q.Splits.First = params, windows })
}

// changes collects inputs that are not what they were.
type changes struct {
	names   []string
	details []map[string]string
}

func (c *changes) note(name, was, is string) *changes {
	if was != is {
		c.names = append(c.names, name)
		c.details = append(c.details, map[string]string{"input": name, "old": was, "new": is})
	}
	return c
}

func (c *changes) compare(name string, was, is any) error {
	var texts [2]string
	for i, x := range []any{was, is} {
		if text, plain := x.(string); plain {
			texts[i] = text
			continue
		}
		text, err := digest.JCS(x)
		if err != nil {
			return err
		}
		texts[i] = string(text)
	}
	c.note(name, texts[0], texts[1])
	return nil
}

// err says what has changed, nil if nothing has.
func (c *changes) err(f *plan.File) error {
	if len(c.names) == 0 {
		return nil
	}
	var text []string
	for _, d := range c.details {
		text = append(text, fmt.Sprintf("%s was %s, is %s", d["input"], brief(d["old"]), brief(d["new"])))
	}
	return &evaluate.Error{
		Code: "PLAN_INPUTS_CHANGED", Details: map[string]any{"plan_id": f.ID, "changed": c.names, "changes": c.details},
		Message: fmt.Sprintf("not what was registered with %s: %s. Nothing was executed. Plan again: lab family plan %s --amends %s",
			f.ID, strings.Join(text, "; "), f.Plan.Slug, f.Hash),
	}
}

// brief is a hash by its beginning; anything else is shown whole.
func brief(text string) string {
	if len(text) == 64 && !strings.ContainsAny(text, " {") {
		return text[:12] + "…"
	}
	return text
}

// firstError is the first error that is one.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// runQuestion is the selected parameters as a run: all splits of lab.json's scheme, which
// are those that the trials were cut from.
func (s *Search) runQuestion(params json.RawMessage) (*evaluate.Prepared, error) {
	return s.whole.Vary(s.root, func(q *evaluate.Question) {
		q.Kind, q.Params, q.Splits.First = artifact.KindRun, params, 0
	})
}
