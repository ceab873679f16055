package shadow

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// execution is what makes two fills equal: the candle in which they happened, symbol, side and
// quantity. Prices differ between a venue and a simulator.
type execution struct {
	candle   market.Time // its open
	symbol   string
	side     string
	quantity string // in shortest form
}

// opened is the open of the candle in which something happened; candles are of a day at most.
func opened(tf market.Timeframe, at market.Time) market.Time {
	return at - at%market.Time(tf.Duration().Milliseconds())
}

// compare holds a finished paper or live run against a shadow that begins when it did, flat and
// with its cash. A live run is held to the limits of its registry entry, a paper run to none:
// its limits only watch.
func (p *player) compare(ctx context.Context, id string) (*bundle.ComparedRun, error) {
	i := slices.IndexFunc(p.b.Runs, func(r bundle.Run) bool { return r.RunID == id })
	if i < 0 {
		return nil, errors.New("it is not in the bundle")
	}
	run := &p.b.Runs[i]
	asked := &artifact.Request{}
	if err := p.w.Stage.read(id, "request.json", run.RequestHash, asked); err != nil {
		return nil, err
	}
	tf, err := timeframeOf(asked)
	if err != nil {
		return nil, err
	}
	own, err := p.w.Stage.executions(p.b, id, tf)
	if err != nil {
		return nil, err
	}
	ran, err := p.w.Stage.curveOf(p.b, id, tf)
	if err != nil {
		return nil, err
	}
	first, last := ran.opens[0], ran.opens[len(ran.opens)-1]
	limits, err := p.limitsOf(ctx, run.Role)
	if err != nil {
		return nil, err
	}
	rules := *p.rules
	rules.Execution, rules.Timeframe = asked.Execution, asked.Timeframe
	if len(rules.Execution) == 0 || string(rules.Execution) == "null" {
		rules.Execution = p.rules.Execution
	}
	q := playRequest{
		b: p.b, rules: &rules, cash: json.Number(asked.InitialCash), limits: limits,
		start: first.Time(), end: tf.Next(last).Time(),
	}
	if err := p.w.Stage.bring(ctx, &rules, q.start, q.end); err != nil {
		return nil, err
	}
	got, err := p.playNew(ctx, q)
	if err != nil {
		return nil, err
	}
	if p.reported.Sandbox == "" {
		p.reported.Sandbox = got.sandbox
	}
	shadow := map[execution]int64{}
	for _, f := range got.fills {
		e := execution{opened(tf, f.Time), string(f.Symbol), f.Side.String(), f.Quantity.Trim(0).String()}
		shadow[e]++
	}
	out := pair(own, shadow)
	out.RunID = id
	if ran.cash, err = q.cash.Float64(); err != nil {
		return nil, err
	}
	byDay(out, tf, ran, &got.curve)
	return out, nil
}

// limitsOf are those that a run with a role was held to; nil for none.
func (p *player) limitsOf(ctx context.Context, role bundle.Role) (*risk.Limits, error) {
	if role == bundle.RolePaper {
		return nil, nil
	}
	text, err := p.w.Plane.Read(ctx, "deployable-registry", p.b.Candidate.FamilyID)
	if err != nil {
		return nil, err
	}
	var reg promotion.Registry
	if err := json.Unmarshal(text, &reg); err != nil {
		return nil, err
	}
	id := bundle.DeployableID(p.b.Strategy)
	for _, e := range reg.Entries {
		if e.DeployableID == id && string(e.Stage) == string(role) {
			limits, _, err := declared(&e.Limits)
			return limits, err
		}
	}
	return nil, fmt.Errorf("the registry has no entry in %s, whose limits held the run", role)
}

// pair counts the fills of both sides without an equal partner, by day.
func pair(own, shadow map[execution]int64) *bundle.ComparedRun {
	days := map[string]*bundle.ComparedDay{}
	at := func(e execution) *bundle.ComparedDay {
		date := bundle.FormatDay(e.candle.Time())
		if days[date] == nil {
			days[date] = &bundle.ComparedDay{Date: date}
		}
		return days[date]
	}
	for e, n := range own {
		d := at(e)
		d.Fills += n
		d.Diverging += max(0, n-shadow[e])
	}
	for e, n := range shadow {
		at(e).Diverging += max(0, n-own[e])
	}
	out := &bundle.ComparedRun{Days: []bundle.ComparedDay{}}
	for _, date := range slices.Sorted(maps.Keys(days)) {
		out.Fills += days[date].Fills
		out.Diverging += days[date].Diverging
		out.Days = append(out.Days, *days[date])
	}
	return out
}

// executions are the fills of a run by its decisions.jsonl, checked against the hash of the bundle.
func (s *Stage) executions(b *bundle.Bundle, id string, tf market.Timeframe) (map[execution]int64, error) {
	lines, err := s.listed(b, id, "/decisions.jsonl")
	if err != nil {
		return nil, err
	}
	found := map[execution]int64{}
	scan := bufio.NewScanner(bytes.NewReader(lines))
	scan.Buffer(nil, len(lines)+1)
	for scan.Scan() {
		var l struct {
			Kind, Symbol, Side string
			Quantity           decimal.Decimal
			Time               market.Time
		}
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("decisions.jsonl of %s: %w", id, err)
		}
		if l.Kind == "fill" {
			found[execution{opened(tf, l.Time), l.Symbol, l.Side, l.Quantity.Trim(0).String()}]++
		}
	}
	return found, scan.Err()
}

// listed reads a file of a run that the bundle lists.
func (s *Stage) listed(b *bundle.Bundle, id, name string) ([]byte, error) {
	for _, a := range b.Artifacts {
		if a.RunID != id || !strings.HasSuffix(a.Name, name) {
			continue
		}
		text, err := s.artifact(a.Name)
		if err != nil {
			return nil, err
		}
		if digest.SHA256Hex(text) != a.SHA256 {
			return nil, fmt.Errorf("%s is not the file that the bundle pins", a.Name)
		}
		return text, nil
	}
	return nil, fmt.Errorf("the bundle lists no %s of it", strings.TrimPrefix(name, "/"))
}
