package binance

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestCancelsGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{spacing: 50 * time.Millisecond}
		defer q.close()
		if err := q.enter(t.Context(), data, 1); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []priority
		var at []time.Duration
		var wg sync.WaitGroup
		begin := time.Now()
		for _, p := range []priority{data, submits, queries, cancels} {
			wg.Go(func() {
				if err := q.enter(t.Context(), p, 1); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				order, at = append(order, p), append(at, time.Since(begin))
			})
			synctest.Wait()
		}
		wg.Wait()
		if !slices.Equal(order, []priority{cancels, queries, submits, data}) {
			t.Errorf("order %v", order)
		}
		for i, d := range at {
			if want := time.Duration(i+1) * 50 * time.Millisecond; d != want {
				t.Errorf("request %d after %s, want %s", i, d, want)
			}
		}
	})
}

func TestAFifthOfTheMinuteIsForCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		defer q.close()
		if err := q.enter(t.Context(), data, weightShare); err != nil {
			t.Fatal(err)
		}
		limited, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := q.enter(limited, submits, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a submit beyond its share: %v", err)
		}
		begin := time.Now()
		if err := q.enter(t.Context(), cancels, 1); err != nil || time.Since(begin) != 0 {
			t.Errorf("a cancel waited %s: %v", time.Since(begin), err)
		}
		if err := q.enter(t.Context(), submits, 1); err != nil || time.Since(begin) > time.Minute {
			t.Errorf("the next minute: after %s, %v", time.Since(begin), err)
		}
	})
}

func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		defer q.close()
		q.hush(2*time.Second, true)
		var quiet *silence
		if err := q.enter(t.Context(), submits, 1); !errors.As(err, &quiet) || quiet.left != 2*time.Second {
			t.Errorf("a submit: %v", err)
		}
		if err := q.enter(t.Context(), cancels, 1); err != nil {
			t.Errorf("a cancel: %v", err)
		}
		q.hush(time.Minute, false)
		q.hush(time.Second, false) // a shorter one does not end it
		for p := range priorities {
			if err := q.enter(t.Context(), p, 1); !errors.As(err, &quiet) {
				t.Errorf("priority %d: %v", p, err)
			}
		}
		time.Sleep(time.Minute)
		for p := range priorities {
			if err := q.enter(t.Context(), p, 1); err != nil {
				t.Errorf("priority %d afterwards: %v", p, err)
			}
		}
	})
}

func TestSpacingBeginsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		defer q.close()
		begin := time.Now()
		for range 7 {
			if err := q.enter(t.Context(), data, 1); err != nil || time.Since(begin) != 0 {
				t.Errorf("without spacing: after %s, %v", time.Since(begin), err)
			}
		}
		q.space(time.Minute)
		for i := range 3 {
			if err := q.enter(t.Context(), data, 1); err != nil ||
				time.Since(begin) != time.Duration(i+1)*time.Minute {
				t.Errorf("request %d: after %s, %v", i, time.Since(begin), err)
			}
		}
	})
}
