package stream

import "time"

// The tests shorten the times that a client would wait for.

// Hasten sets the time between looks at the run and between repeats of the status.
func (h *Hub) Hasten(tick, repeat time.Duration) { h.pace.tick, h.pace.repeat = tick, repeat }

// Patience sets ping, pong, write and close times.
func (h *Hub) Patience(ping, pong, write, closeWait time.Duration) {
	h.pace.ping, h.pace.pong, h.pace.write, h.pace.closeWait = ping, pong, write, closeWait
}

// Publish broadcasts a frame without any limit.
func (h *Hub) Publish(kind string, payload any) { h.broadcast(kind, payload, nil) }

// MaxMessage is the size of the largest message of a client.
const MaxMessage = maxMessage

// Tick looks at the run once.
func (h *Hub) Tick() { h.collect.tick() }
