package runner

import "sync"

// Change is one change of status.
type Change struct {
	// Previous is the status before.
	Previous string
	// Snapshot is the state right after. Its Seq numbers the changes without a gap.
	Snapshot Snapshot
}

// feed hands changes to subscribers. Each has a queue of its own without a limit,
// because no change may be dropped or merged and publishing must not wait.
type feed struct {
	mu   sync.Mutex
	subs map[*subscriber]struct{}
}

type subscriber struct {
	out  chan Change
	wake chan struct{} // capacity 1
	quit chan struct{}

	mu    sync.Mutex
	queue []Change
}

func (f *feed) publish(c Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		s.mu.Lock()
		s.queue = append(s.queue, c)
		s.mu.Unlock()
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

func (f *feed) subscribe() (<-chan Change, func()) {
	s := &subscriber{out: make(chan Change), wake: make(chan struct{}, 1), quit: make(chan struct{})}
	f.mu.Lock()
	if f.subs == nil {
		f.subs = map[*subscriber]struct{}{}
	}
	f.subs[s] = struct{}{}
	f.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(s.deliver)
	var once sync.Once
	return s.out, func() {
		once.Do(func() {
			f.mu.Lock()
			delete(f.subs, s)
			f.mu.Unlock()
			close(s.quit)
			wg.Wait()
		})
	}
}

func (s *subscriber) deliver() {
	defer close(s.out)
	for {
		select {
		case <-s.wake:
		case <-s.quit:
			return
		}
		s.mu.Lock()
		batch := s.queue
		s.queue = nil
		s.mu.Unlock()
		for _, c := range batch {
			select {
			case s.out <- c:
			case <-s.quit:
				return
			}
		}
	}
}
