// Package problem is the one table of error codes of the API: code, status,
// message and what its details hold. Handlers return a *Problem; package reply
// writes it as the error envelope. The OpenAPI enum and the page /docs/errors come
// from the same table.
//
// Its codes are constants of the packages that fail. Other packages return their own typed errors;
// api/v1 alone turns those into problems.
package problem

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/host/library"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Problem is an answer that is not a success. It is an error, so that handlers can
// return it; its cause is for the log and never shown to the client.
type Problem struct {
	Code    Code
	Message string
	// Details are the extra members of error.details; request_id, path and
	// status_code are added when the problem is written.
	Details map[string]any
	// Header holds extra response headers, such as Allow or Retry-After.
	Header http.Header
	// Close ends the connection after the answer, because the rest of the request
	// has not been read.
	Close bool

	cause error
}

// New makes a problem with the standard message of its code.
func New(code Code) *Problem {
	return &Problem{Code: code, Message: Lookup(code).Message}
}

// WithMessage makes a problem with a message of its own.
func WithMessage(code Code, message string) *Problem {
	return &Problem{Code: code, Message: message}
}

// With adds one member to the details.
func (p *Problem) With(key string, value any) *Problem {
	if p.Details == nil {
		p.Details = map[string]any{}
	}
	p.Details[key] = value
	return p
}

// WithAll adds members to the details.
func (p *Problem) WithAll(members map[string]any) *Problem {
	for key, value := range members {
		p.With(key, value)
	}
	return p
}

// WithHeader adds one response header.
func (p *Problem) WithHeader(key, value string) *Problem {
	if p.Header == nil {
		p.Header = http.Header{}
	}
	p.Header.Set(key, value)
	return p
}

// WithCause keeps the private reason for the log.
func (p *Problem) WithCause(err error) *Problem {
	p.cause = err
	return p
}

// WithClose asks for the connection to be closed after the answer.
func (p *Problem) WithClose() *Problem {
	p.Close = true
	return p
}

// Error implements error.
func (p *Problem) Error() string { return string(p.Code) + ": " + p.Message }

// Unwrap returns the private cause.
func (p *Problem) Unwrap() error { return p.cause }

// Extra implements edge.Problem.
func (p *Problem) Extra() (http.Header, bool) { return p.Header, p.Close }

// Status returns the HTTP status of the code.
func (p *Problem) Status() int { return Lookup(p.Code).Status }

type envelope struct {
	Error body `json:"error"`
}

type body struct {
	Code    Code           `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details"`
}

// Base is the path from which on errors have the envelope with its code.
const Base = "/api/v1"

// maxPath is how much of a path the plain body repeats.
const maxPath = 1 << 10

// plain is the body of every other answer. Path is "" where a request is refused
// before its path is known.
type plain struct {
	Error      string `json:"error"`
	StatusCode int    `json:"status_code"`
	Path       string `json:"path"`
}

// Coded reports whether errors of the path have the envelope.
func Coded(path string) bool { return path == Base || strings.HasPrefix(path, Base+"/") }

// Body returns the body of the answer: the envelope for a path of the API, else the plain
// one. The path is that of the request, escaped.
func (p *Problem) Body(requestID, path string) []byte {
	if Coded(path) {
		return p.envelope(requestID, path)
	}
	out, _ := marshal(plain{p.Message, p.Status(), path[:min(len(path), maxPath)]}) // texts and a number
	return out
}

// envelope has the code. Details that cannot be written as JSON are left out rather
// than losing it.
func (p *Problem) envelope(requestID, path string) []byte {
	details := maps.Clone(p.Details)
	if details == nil {
		details = map[string]any{}
	}
	details["request_id"] = requestID
	switch status := p.Status(); status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusInternalServerError:
		details["path"], details["status_code"] = path, status
	}
	out, err := marshal(envelope{body{p.Code, p.Message, details}})
	if err != nil {
		out, _ = marshal(envelope{body{p.Code, p.Message, map[string]any{"request_id": requestID}}})
	}
	return out
}

func marshal(e any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

// Code is what clients branch on.
type Code string

// The codes: those of runs are the constants of the packages that fail.
const (
	MalformedRequest            Code = edge.CodeMalformedRequest
	InvalidJSON                 Code = "INVALID_JSON"
	ValidationFailed            Code = run.CodeValidationFailed
	StrategyNotFound            Code = run.CodeStrategyNotFound
	StrategyUnavailable         Code = run.CodeStrategyUnavailable
	InvalidStrategyParams       Code = wire.InvalidStrategyParams
	ExchangeNotFound            Code = run.CodeExchangeNotFound
	ExchangeUnavailable         Code = trade.CodeExchangeUnavailable
	UnsupportedTimeframe        Code = run.CodeUnsupportedTimeframe
	UnsupportedSymbol           Code = run.CodeUnsupportedSymbol
	InvalidDateRange            Code = run.CodeInvalidDateRange
	DataUnavailable             Code = run.CodeDataUnavailable
	ModeNotSupported            Code = run.CodeModeNotSupported
	CredentialsRequired         Code = trade.CodeCredentialsRequired
	BadHandshake                Code = "BAD_HANDSHAKE"
	HostForbidden               Code = edge.CodeHostForbidden
	OriginForbidden             Code = edge.CodeOriginForbidden
	NotFound                    Code = edge.CodeNotFound
	RunNotFound                 Code = library.CodeRunNotFound
	FamilyNotFound              Code = deploy.CodeFamilyNotFound
	FileNotFound                Code = "FILE_NOT_FOUND"
	DatasetNotFound             Code = "DATASET_NOT_FOUND"
	JobNotFound                 Code = "JOB_NOT_FOUND"
	CandidateNotFound           Code = "CANDIDATE_NOT_FOUND"
	MethodNotAllowed            Code = edge.CodeMethodNotAllowed
	RequestTimeout              Code = edge.CodeRequestTimeout
	RunAlreadyActive            Code = Code(runner.RunAlreadyActive)
	RunNotActive                Code = Code(runner.RunNotActive)
	RunStillRunning             Code = Code(runner.RunStillRunning)
	NoRun                       Code = Code(runner.NoRun)
	ResultsNotReady             Code = Code(runner.ResultsNotReady)
	IdempotencyKeyReused        Code = "IDEMPOTENCY_KEY_REUSED"
	SplitLocked                 Code = "SPLIT_LOCKED"
	ArtifactMismatch            Code = library.CodeArtifactMismatch
	RunCompact                  Code = library.CodeRunCompact
	NoteChanged                 Code = "NOTE_CHANGED"
	HypothesisRequired          Code = library.CodeHypothesisRequired
	JobQueueFull                Code = "JOB_QUEUE_FULL"
	RegistryInvalid             Code = Code(deploy.RegistryInvalid)
	RegistryUnsigned            Code = Code(deploy.RegistryUnsigned)
	RegistrySignatureInvalid    Code = Code(deploy.RegistrySignatureInvalid)
	RegistryFamilyMismatch      Code = Code(deploy.RegistryFamilyMismatch)
	RegistryExpired             Code = Code(deploy.RegistryExpired)
	RegistryRollback            Code = Code(deploy.RegistryRollback)
	RegistryUnavailable         Code = Code(deploy.RegistryUnavailable)
	DeploymentNotApproved       Code = Code(deploy.DeploymentNotApproved)
	DeploymentRevoked           Code = Code(deploy.DeploymentRevoked)
	DeploymentExpired           Code = Code(deploy.DeploymentExpired)
	DeploymentModeNotAllowed    Code = Code(deploy.DeploymentModeNotAllowed)
	DeploymentLimitExceeded     Code = Code(deploy.DeploymentLimitExceeded)
	EndpointRemoved             Code = "ENDPOINT_REMOVED"
	BodyTooLarge                Code = edge.CodeBodyTooLarge
	UnsupportedMediaType        Code = edge.CodeMediaType
	ExpectationFailed           Code = edge.CodeExpectation
	UpgradeRequired             Code = "UPGRADE_REQUIRED"
	HeadersTooLarge             Code = edge.CodeHeadersTooLarge
	InternalError               Code = Code(runner.Internal)
	RunStartFailed              Code = Code(runner.RunStartFailed)
	UnsupportedTransferEncoding Code = edge.CodeTransferEncoding
	HTTPVersionNotSupported     Code = edge.CodeHTTPVersion
	ShuttingDown                Code = Code(runner.ShuttingDown)
	TooManyClients              Code = "TOO_MANY_CLIENTS"
	LabUnavailable              Code = "LAB_UNAVAILABLE"
	ControlUnreachable          Code = client.CodeUnreachable
)

// Entry is one row of the table.
type Entry struct {
	Code   Code
	Status int
	// Message is what a client reads when nothing more precise is known.
	Message string
	// Details names the members of error.details beside request_id.
	Details []string
	// Advice is what to do about it, for the documentation.
	Advice string
}

// Anchor returns the fragment of the code on /docs/errors.
func (e Entry) Anchor() string { return strings.ToLower(strings.ReplaceAll(string(e.Code), "_", "-")) }

// Lookup returns the row of a code; an unknown code is an internal error.
func Lookup(code Code) Entry {
	for _, e := range Table() {
		if e.Code == code {
			return e
		}
	}
	return Entry{Code: code, Status: 500, Message: "The service met an unexpected condition."}
}

// Table returns every code, by status and then in the order of the design.
func Table() []Entry {
	return slices.Concat(requestTable(), stateTable(), deploymentTable(), serverTable())
}

func requestTable() []Entry {
	list := func(s ...string) []string { return s }
	return []Entry{
		{MalformedRequest, 400, "The request is not valid HTTP or has a header that cannot be read.", nil,
			"Check the request line and the headers; message names what was wrong where it is known."},
		{InvalidJSON, 400, "The body is not valid JSON.", list("offset", "line", "reason"),
			"Send one UTF-8 JSON value without duplicate keys. offset is the byte, line the line (from 1) " +
				"where reading stopped."},
		{ValidationFailed, 400, "The request does not match the schema.", list("errors"),
			"Each entry of errors has a pointer to the field, a message and the rule that failed."},
		{StrategyNotFound, 400, "There is no such strategy.", list("available"),
			"Use a name of GET /api/v1/strategies. New plugins are found at the next start of the service."},
		{StrategyUnavailable, 400, "The strategy cannot be used.", list("reason"),
			"Mend the plugin as the reason says, then restart the service."},
		{InvalidStrategyParams, 400, "The strategy does not accept these parameters.", list("errors"),
			"Compare with params_schema of GET /api/v1/strategies."},
		{ExchangeNotFound, 400, "There is no such exchange.", list("available"),
			"Use an id of GET /api/v1/exchanges."},
		{ExchangeUnavailable, 400, "The exchange cannot be used.", list("reason"),
			"Mend the connector as the reason says, then restart the service."},
		{UnsupportedTimeframe, 400, "The timeframe is not offered here.", list("available"),
			"Use a timeframe that the exchange and the strategy list."},
		{UnsupportedSymbol, 400, "A symbol is not offered here.", list("symbols", "available"),
			"Use symbols that the exchange lists; all of one run share the quote currency."},
		{InvalidDateRange, 400, "start_date must be before end_date.", list("start_date", "end_date"),
			"The window is [start_date, end_date)."},
		{DataUnavailable, 400, "There are no candles in this window.", list("range"),
			"Choose a window inside range or import candles with lab data import."},
		{ModeNotSupported, 400, "This mode is not offered.", list("reason"),
			"See modes of the exchange and of the strategy. Controls are for paper and live runs."},
		{CredentialsRequired, 400, "The exchange needs credentials for live trading.", list("missing"),
			"Add the missing keys to exchange_config."},
		{BadHandshake, 400, "The WebSocket handshake is not valid.", nil,
			"Use WebSocket version 13 with a valid Sec-WebSocket-Key."},
		{HostForbidden, 403, "The Host header names a host that this service does not serve.", nil,
			"Use localhost or the address the service listens on, or start it with --allowed-host."},
		{OriginForbidden, 403, "Requests from other origins are refused.", nil,
			"Send the request from a page of this service or from a program."},
		{NotFound, 404, "There is nothing at this path.", nil,
			"Paths are exact: no trailing slash. See /openapi.json."},
		{RunNotFound, 404, "There is no such run.", nil, "Use a run_id of GET /api/v1/runs."},
		{FamilyNotFound, 404, "There is no such search.", nil, "Use a plan_id of GET /api/v1/families."},
		{FileNotFound, 404, "The run has no such file.", nil,
			"Use a name of GET /api/v1/runs/{run_id}/files, with %2F for each slash."},
		{DatasetNotFound, 404, "There is no such dataset.", nil, "Use a dataset_id of GET /api/v1/datasets."},
		{JobNotFound, 404, "There is no such job.", nil, "Use a job_id of GET /api/v1/jobs."},
		{CandidateNotFound, 404, "There is no such candidate.", nil,
			"Use a candidate_revision_id of GET /api/v1/candidates; lab candidate pack --submit posts it."},
		{MethodNotAllowed, 405, "This path does not answer this method.", list("allow"),
			"Use a method of the Allow header."},
		{RequestTimeout, 408, "The body did not arrive in time.", nil,
			"Send the whole body within 15 seconds, a file without a pause of 30."},
		{EndpointRemoved, 410, "This endpoint has been removed.", list("documentation"),
			"See /docs/deprecations for its successor."},
		{BodyTooLarge, 413, "The body is larger than 1 MiB.", list("limit_bytes"),
			"Send a smaller body; of a file less than --max-upload."},
		{UnsupportedMediaType, 415, "A body must be sent as application/json without content encoding.", nil,
			"Set Content-Type: application/json, of an upload application/octet-stream, and no " +
				"Content-Encoding."},
		{ExpectationFailed, 417, "Only the expectation 100-continue is understood.", nil,
			"Remove the Expect header."},
		{UpgradeRequired, 426, "This path speaks WebSocket only.", nil, "Connect with a WebSocket client."},
		{HeadersTooLarge, 431, "The headers are larger than 64 KiB.", nil, "Send smaller headers."},
	}
}

func stateTable() []Entry {
	run := []string{"status", "run_id", "mode", "hint"}
	return []Entry{
		{RunAlreadyActive, 409, "The runner still holds a run. Reset it, or replace it.", run,
			"One run exists at a time: stop it if it is running, then reset it, or replace it with the " +
				"header Replace-Run."},
		{RunNotActive, 409, "No run is active.", run, "There is nothing to stop."},
		{RunStillRunning, 409, "The run is still running. Stop it before the reset.", run,
			"POST /api/v1/run/stop first."},
		{NoRun, 409, "There is no run yet.", run, "Start one with POST /api/v1/run/backtest."},
		{ResultsNotReady, 409, "The run has not ended yet.", run,
			"Wait for completed or failed; /status/detailed shows the results so far."},
		{IdempotencyKeyReused, 409, "This Idempotency-Key was used with another body.", nil,
			"Use a new key for a new request."},
		{SplitLocked, 409, "The test of this run is locked.", []string{"run_id"},
			"POST /api/v1/runs/{run_id}/reveal with a reason shows it from then on. The look is noted and " +
				"counts against later trials of the family."},
		{ArtifactMismatch, 409, "A file of the run is not what was stored.", []string{"run_id", "reason"},
			"The folder was changed or damaged: restore it from a backup, or make the run again."},
		{RunCompact, 409, "The run keeps no such files.", []string{"run_id"},
			"Trials of a search keep daily equity and metrics, those of a large one metrics alone: " +
				"lab run STRATEGY --trial PLAN:INDEX makes the rest."},
		{NoteChanged, 409, "The note was changed since it was read.", nil,
			"Read the run again and repeat with its note_version in If-Match."},
		{HypothesisRequired, 409, "A search needs a hypothesis before it begins.", nil,
			"Say in one sentence why this should work, in hypothesis."},
		{JobQueueFull, 409, "Too many jobs wait already.", nil,
			"Wait until one has ended, or cancel one with DELETE /api/v1/jobs/{job_id}."},
	}
}

// deploymentTable returns the refusals of the host's deployment policy to live starts with real money.
func deploymentTable() []Entry {
	registry := func(more ...string) []string { return append([]string{"family"}, more...) }
	entry := func(more ...string) []string {
		return append([]string{"family", "registry_version", "plugin_sha256", "params_sha256",
			"deployable_id", "candidate_revision_id"}, more...)
	}
	return []Entry{
		{RegistryInvalid, 409, "The deployable registry cannot be read.", registry("reason"),
			"Find out what answers at --control-url: it is no control plane of this version."},
		{RegistryUnsigned, 409, "The deployable registry has no signed payload.", registry(),
			"Only what the control plane has signed counts. Check --control-url."},
		{RegistrySignatureInvalid, 409, "The deployable registry is not signed by the pinned key.",
			registry("reason"),
			"Compare --control-key with the control plane's governance.pub, over a way that you trust."},
		{RegistryFamilyMismatch, 409, "The deployable registry is that of another family.", registry(),
			"Name the strategy's family with --strategy-family, or find out what answers in the control " +
				"plane's place."},
		{RegistryExpired, 409, "The deployable registry has expired.",
			registry("registry_version", "expires_at"),
			"The control plane issues one an hour and with every change: see to it, and to this machine's " +
				"clock."},
		{RegistryRollback, 409, "The deployable registry is older than one that was seen before, or not in " +
			"the log that was seen before.",
			registry("registry_version", "highest_version", "reason"),
			"An old one is being shown, the control plane was restored from a backup, or its log was " +
				"rewritten: settle which before anything trades."},
		{RegistryUnavailable, 409, "The control plane does not answer, and no cached registry is valid.",
			registry("registry_version", "expires_at", "reason"),
			"Start the control plane or correct --control-url; a registry that was seen before helps until " +
				"it expires."},
		{DeploymentNotApproved, 409,
			"No entry of the registry is for this program with these parameters and markets.",
			entry("reason"), "Start what was approved, or pack and promote a candidate of exactly this."},
		{DeploymentRevoked, 409, "The deployment is not active.", entry("reason"),
			"Suspended: two approvals resume it. Revoked: another revision has to be promoted."},
		{DeploymentExpired, 409, "The evidence for the deployment has expired.", entry("expires_at"),
			"Renew it as the pending experiments of the control plane say, and submit it."},
		{DeploymentModeNotAllowed, 409, "The deployment is not approved for this mode.", entry("reason"),
			"Have it promoted to canary or live first, or run it in mode paper."},
		{DeploymentLimitExceeded, 409, "The start exceeds a limit of the deployment.", entry("reason"),
			"Trade fewer symbols or in the quote currency of its limits."},
	}
}

func serverTable() []Entry {
	return []Entry{
		{InternalError, 500, "The service met an unexpected condition.", nil,
			"The cause is in the service's log under the request id."},
		{RunStartFailed, 500, "The strategy could not be started.", []string{"reason", "log_tail"},
			"log_tail holds the last lines that the plugin wrote. " +
				"Where reason is corrupt_dataset the stored candles are damaged: import them again."},
		{UnsupportedTransferEncoding, 501, "Only the transfer encoding chunked is understood.", nil,
			"Send the body with Content-Length or chunked."},
		{HTTPVersionNotSupported, 505, "Only HTTP/1.1 and HTTP/1.0 are understood.", nil, "Use HTTP/1.1."},
		{ShuttingDown, 503, "The service is shutting down.", nil, "Try again after the restart."},
		{TooManyClients, 503, "Too many stream clients are connected.", nil, "Try again after Retry-After."},
		{LabUnavailable, 503, "The program lab is not there.", nil,
			"Put lab beside the service's executable or name it with --lab; nothing has to be restarted."},
		{ControlUnreachable, 503, "No control plane answers, and nothing was read of it before.",
			[]string{"reason"},
			"Start it with governance serve, and this service with --control-url and --control-key."},
	}
}
