package stream

import (
	_ "embed"
	"encoding/json"
)

// The directions of an event.
const (
	FromServer = "server"
	FromClient = "client"
)

// EventDoc describes one type of message for the page /docs/events.
type EventDoc struct {
	Type      string          `json:"type"`
	Direction string          `json:"direction"` // FromServer or FromClient
	Clients   string          `json:"clients"`   // those concerned: plain or rich
	Summary   string          `json:"summary"`   // what it is for
	Rate      string          `json:"rate"`      // how often it comes
	Payload   []FieldDoc      `json:"payload,omitempty"`
	Example   json.RawMessage `json:"example"` // a payload
}

// FieldDoc describes one field of a payload.
type FieldDoc struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// events.json is the only list of messages.
//
//go:embed events.json
var events []byte

// Events is every message of the stream, in the order in which a reader meets them.
func Events() []EventDoc {
	var list []EventDoc
	if err := json.Unmarshal(events, &list); err != nil {
		panic(err) // the text is part of the program, and tested
	}
	return list
}
