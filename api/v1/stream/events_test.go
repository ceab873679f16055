package stream_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/api/v1/schema"
	"github.com/assay-run/assay/api/v1/stream"
	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/runner"
)

// fieldsOf are the documented fields of each type that rich clients get.
func fieldsOf(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, e := range stream.Events() {
		var example map[string]any
		if err := json.Unmarshal(e.Example, &example); err != nil {
			t.Errorf("%s: %v", e.Type, err)
		}
		var names []string
		for _, f := range e.Payload {
			if f.Text == "" {
				t.Errorf("%s: %s is not explained", e.Type, f.Name)
			}
			names = append(names, f.Name)
		}
		slices.Sort(names)
		shown := slices.Sorted(maps.Keys(example))
		if !slices.Equal(names, shown) && !slices.Contains(names, "…") {
			t.Errorf("%s: documented %v, shown %v", e.Type, names, shown)
		}
		if e.Summary == "" || e.Rate == "" || e.Direction != stream.FromServer &&
			e.Direction != stream.FromClient {
			t.Errorf("%s is not documented", e.Type)
		}
		if e.Direction == stream.FromServer && e.Clients == "rich" {
			out[e.Type] = names
		}
	}
	return out
}

// validator holds frames of rich clients, and the plain one, against the AsyncAPI description.
func validator(t *testing.T) func(message string, text []byte) {
	t.Helper()
	text, err := stream.AsyncAPI()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return func(message string, text []byte) {
		t.Helper()
		s, err := doc.Compile("/components/schemas/" + message)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		for _, bad := range s.Validate(v) {
			t.Errorf("%s: %v in %s", message, bad, text)
		}
	}
}

// TestAsyncAPI: every message of the table is in the description, and every reference leads
// somewhere.
func TestAsyncAPI(t *testing.T) {
	text, err := stream.AsyncAPI()
	if err != nil {
		t.Fatal(err)
	}
	again, err := stream.AsyncAPI()
	if err != nil || string(again) != string(text) {
		t.Error("the description differs from itself", err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	refs := 0
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if to, is := v["$ref"].(string); is {
				refs++
				var at any = doc
				for _, part := range strings.Split(to, "/")[1:] {
					m, _ := at.(map[string]any)
					at = m[part]
				}
				if at == nil {
					t.Errorf("%s leads nowhere", to)
				}
			}
			for _, x := range v {
				walk(x)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(doc)
	messages := doc["components"].(map[string]any)["messages"].(map[string]any)
	if events := stream.Events(); len(messages) != len(events) || refs < 3*len(events) {
		t.Errorf("%d messages and %d references for %d events", len(messages), refs, len(events))
	}
	validator(t)("plain_status_update", []byte(`{"type":"status_update","payload":{"status":"idle",`+
		`"run_id":""},"timestamp":"2026-01-01T00:00:00.000Z"}`))
}

// Every frame that is sent is documented, field by field, and the other way round.
func TestEvents(t *testing.T) {
	documented := fieldsOf(t)
	x := newScript()
	s := start(t, setup{prepare: func(h *stream.Hub) { h.Hasten(20*time.Millisecond, 400*time.Millisecond) }})
	c, _ := s.dial(t, stream.Subprotocol)
	seen := map[string]bool{}
	valid := validator(t)
	look := func(f frame) {
		t.Helper()
		valid(f.Type, f.text)
		seen[f.Type] = true
		names, known := documented[f.Type]
		if !known {
			t.Fatalf("not documented: %s", f.text)
		}
		var p map[string]json.RawMessage
		f.into(t, &p)
		if got := slices.Sorted(maps.Keys(p)); !slices.Equal(got, names) && !slices.Contains(names, "…") {
			t.Errorf("%s has %v, documented are %v", f.Type, got, names)
		}
	}
	look(c.next())
	look(c.next())
	x.mode(t, s, runner.ModePaper)
	x.trade(1)
	x.say("word")
	x.hold("1")
	x.alarm(alarm.Alarm{ID: "a-000001"})
	s.mu.Lock()
	s.health.Checks.Disk.Message = "other"
	s.mu.Unlock()
	for _, q := range []string{`{"type":"run","payload":{}}`, `{"type":"rows","payload":{"table":"fills"}}`,
		`{"type":"series","payload":{"series":"equity"}}`, `{"type":"x"}`} {
		c.send("%s", q)
	}
	told := false
	for end := time.Now().Add(8 * time.Second); len(seen) < len(documented)-1 && time.Now().Before(end); {
		look(c.next())
		x.trade(1)
		x.say("word")
		if len(seen) > 5 && !told {
			told = true
			s.mu.Lock()
			s.health.Checks.Disk.Message = "another"
			s.mu.Unlock()
			x.end <- runner.Outcome{}
		}
	}
	go func() { _ = s.hub.Shutdown(t.Context()) }()
	for !seen["server_shutdown"] {
		look(c.next())
	}
	for kind := range documented {
		if !seen[kind] {
			t.Errorf("%s was never sent: %v", kind, strings.Join(slices.Sorted(maps.Keys(seen)), " "))
		}
	}
}
