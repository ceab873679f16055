// Package v1 is version 1 of the API: its operations, and the OpenAPI document that
// describes them.
//
// A request has passed the edge (package api) when it arrives here. The operation
// reads the body strictly (strictjson), checks it against the document (schema),
// looks at the idempotency key and then asks the host: host/runner owns the state
// machine and serialises starts, stops and resets; host/run looks everything
// up and launches; host/catalog and host/candle supply the lists. Answers are built
// by package view.
//
// errors.go alone knows which error of the host becomes which code. Other
// packages of the host never see a status code.
package v1
