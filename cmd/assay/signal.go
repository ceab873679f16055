package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// signals turn the first SIGINT or SIGTERM into the end of a context; the second
// ends the process.
type signals struct {
	cancel context.CancelFunc
	events chan os.Signal
	done   chan struct{}
}

func watchSignals(ctx context.Context) (context.Context, *signals) {
	ctx, cancel := context.WithCancel(ctx)
	s := &signals{cancel: cancel, events: make(chan os.Signal, 2), done: make(chan struct{})}
	signal.Notify(s.events, os.Interrupt, syscall.SIGTERM)
	go s.watch()
	return ctx, s
}

func (s *signals) watch() {
	defer close(s.done)
	if _, ok := <-s.events; !ok {
		return
	}
	s.cancel()
	if _, ok := <-s.events; ok {
		os.Exit(exitSignals)
	}
}

func (s *signals) stop() {
	signal.Stop(s.events)
	close(s.events)
	<-s.done
	s.cancel()
}
