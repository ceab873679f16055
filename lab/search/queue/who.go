package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/assay-run/assay/host/base/field"
)

const stateSchema = "search-worker/v1"

// State is what a worker says of itself.
type State struct {
	Schema string `json:"schema"`
	ID     string `json:"id"`
	// Engine is the SHA-256 of its lab: it takes the trials of equal ones only.
	Engine string `json:"engine"`
	// Allows are the ids of the keys whose programs it executes.
	Allows []string `json:"allows"`
	Slots  int      `json:"slots"`
	Played int      `json:"played"`
	Doing  []Doing  `json:"doing"`
}

// Doing is a trial that is played now, or a replay of a falsification.
type Doing struct {
	Slug   string `json:"slug"`
	PlanID string `json:"plan_id"`
	Trial  int64  `json:"trial"`
	// Replay reports that Trial is the number of a replay.
	Replay bool      `json:"replay,omitzero"`
	Since  time.Time `json:"since"`
}

// Number is a trial's as in t12, a replay's as in r12.
func (d Doing) Number() string {
	if d.Replay {
		return fmt.Sprint("r", d.Trial)
	}
	return fmt.Sprint("t", d.Trial)
}

// DecodeState reads what a worker says.
func DecodeState(text []byte) (*State, error) {
	s := &State{}
	if err := decode(text, s); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	err := errors.Join(form("/schema", s.Schema, s.Schema == stateSchema),
		form("/id", s.ID, isName(s.ID)), form("/engine", s.Engine, field.IsSHA256(s.Engine)))
	for _, id := range s.Allows {
		err = errors.Join(err, form("/allows", id, field.IsSHA256(id)))
	}
	if s.Slots < 1 || len(s.Doing) > s.Slots {
		err = errors.Join(err, errors.New("/doing: more trials than slots"))
	}
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	return s, nil
}

// Waiting are tasks in the queue, those under way included, of one engine and submitter.
type Waiting struct {
	// Engine and Signer are the first 16 hex digits of the lab's hash and of the key's id.
	Engine string `json:"engine"`
	Signer string `json:"signer"`
	Tasks  int    `json:"tasks"`
}

// Overview is who does what.
type Overview struct {
	Workers []*State  `json:"workers"`
	Queue   []Waiting `json:"queue"`
}

// Look asks a server who does what.
func (l *Link) Look(ctx context.Context) (*Overview, error) {
	out := &Overview{Workers: []*State{}, Queue: []Waiting{}}
	ctx, cancel := context.WithTimeout(ctx, 2*beat)
	defer cancel()
	if err := l.states(ctx, out); err != nil {
		return nil, err
	}
	info, err := l.tasks.Info(ctx, jetstream.WithSubjectFilter(taskPrefix+">"))
	if err != nil {
		return nil, err
	}
	n := map[Waiting]int{}
	for subject, tasks := range info.State.Subjects {
		if part := strings.Split(strings.TrimPrefix(subject, taskPrefix), "."); len(part) > 2 {
			n[Waiting{Engine: part[0], Signer: part[1]}] += int(tasks)
		}
	}
	for w, tasks := range n {
		w.Tasks = tasks
		out.Queue = append(out.Queue, w)
	}
	slices.SortFunc(out.Queue, func(a, b Waiting) int {
		return strings.Compare(a.Engine+a.Signer, b.Engine+b.Signer)
	})
	return out, nil
}

// states adds what all workers say, in one go, however many they are.
func (l *Link) states(ctx context.Context, to *Overview) error {
	all, err := l.workers.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer func() { _ = all.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e := <-all.Updates():
			if e == nil { // these were all
				slices.SortFunc(to.Workers, func(a, b *State) int { return strings.Compare(a.ID, b.ID) })
				return nil
			}
			s, err := DecodeState(e.Value())
			if err != nil {
				return err
			}
			to.Workers = append(to.Workers, s)
		}
	}
}
