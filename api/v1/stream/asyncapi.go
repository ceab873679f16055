package stream

import (
	"bytes"
	"encoding/json"
	"strings"
)

// AsyncAPI is the description of the stream as AsyncAPI 3.0, made from [Events]. A field's type is
// that of its example; every one may be null. Fields may be added, as anywhere in the API.
func AsyncAPI() ([]byte, error) {
	messages, schemas := map[string]any{}, map[string]any{}
	refs := map[string][]any{}
	for _, e := range Events() {
		name := MessageName(e)
		s, err := messageSchema(e)
		if err != nil {
			return nil, err
		}
		schemas[name] = s
		messages[name] = map[string]any{"name": e.Type, "title": e.Type, "summary": e.Summary,
			"description": "Sent " + e.Rate + ". To clients: " + e.Clients + ".",
			"contentType": "application/json", "payload": ref("components", "schemas", name)}
		refs[e.Direction] = append(refs[e.Direction], ref("channels", "status", "messages", name))
	}
	channel := map[string]any{}
	for name := range messages {
		channel[name] = ref("components", "messages", name)
	}
	doc := map[string]any{
		"asyncapi": "3.0.0",
		"info": map[string]any{"title": "Assay status stream", "version": "v1",
			"description": "A WebSocket in two dialects: without a subprotocol only status_update of the " +
				"plain form; with the subprotocol " + Subprotocol + " the rest. The operations of the " +
				"service are in /openapi.json.",
			"license": map[string]any{"name": "Apache-2.0"}},
		"servers": map[string]any{"service": map[string]any{"host": "127.0.0.1:8000", "protocol": "ws",
			"description": "The service where it listens by default."}},
		"defaultContentType": "application/json",
		"channels": map[string]any{"status": map[string]any{"address": Path, "messages": channel,
			"bindings": map[string]any{"ws": map[string]any{"method": "GET"}}}},
		"operations": map[string]any{
			"receiveStatus": map[string]any{"action": "receive", "channel": ref("channels", "status"),
				"summary": "What the service says.", "messages": refs[FromServer]},
			"sendRequest": map[string]any{"action": "send", "channel": ref("channels", "status"),
				"summary": "What a rich client may ask.", "messages": refs[FromClient]},
		},
		"components": map[string]any{"messages": messages, "schemas": schemas},
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	err := out.Encode(doc)
	return b.Bytes(), err
}

// MessageName is the name of a message in the AsyncAPI description: its type, and for the plain
// form and for requests, whose types others have too, that before it.
func MessageName(e EventDoc) string {
	name := e.Type
	switch {
	case e.Direction == FromClient:
		name = "request_" + name
	case e.Clients == "plain":
		name = "plain_" + name
	}
	return name
}

func ref(path ...string) map[string]any {
	return map[string]any{"$ref": "#/" + strings.Join(path, "/")}
}

// messageSchema is the form of a whole message.
func messageSchema(e EventDoc) (map[string]any, error) {
	var example map[string]json.RawMessage
	if err := json.Unmarshal(e.Example, &example); err != nil {
		return nil, err
	}
	fields, required := map[string]any{}, []string{}
	for _, f := range e.Payload {
		if f.Name == "…" {
			continue // as another document has it
		}
		s := map[string]any{"description": f.Text}
		if kind := kindOf(example[f.Name]); kind != "" {
			s["type"] = []string{kind, "null"}
		}
		fields[f.Name] = s
		if e.Direction == FromServer {
			required = append(required, f.Name)
		}
	}
	payload := map[string]any{"type": "object", "properties": fields, "required": required,
		"examples": []any{e.Example}}
	out := map[string]any{"type": map[string]any{"const": e.Type}, "payload": payload}
	if e.Direction == FromClient {
		return map[string]any{"type": "object", "properties": out, "required": []string{"type"}}, nil
	}
	out["timestamp"] = map[string]any{"type": "string", "description": "UTC, with milliseconds."}
	names := []string{"type", "payload", "timestamp"}
	if e.Clients != "plain" {
		out["seq"] = map[string]any{"type": "integer", "minimum": 0, "description": "Without gaps."}
		names = append(names, "seq")
	}
	return map[string]any{"type": "object", "properties": out, "required": names}, nil
}

// kindOf is the JSON type of a value; empty where it says nothing.
func kindOf(value json.RawMessage) string {
	switch {
	case len(value) == 0 || value[0] == 'n':
		return ""
	case value[0] == '"':
		return "string"
	case value[0] == '{':
		return "object"
	case value[0] == '[':
		return "array"
	case value[0] == 't' || value[0] == 'f':
		return "boolean"
	}
	return "number"
}
