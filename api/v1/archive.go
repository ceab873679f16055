package v1

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/schema"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/library"
	"github.com/assay-run/assay/host/registry"
)

// archiveRoutes are the operations on runs that were made, searches and falsifications.
func (a *API) archiveRoutes() []edge.Route {
	get := func(path string, f func(*http.Request) (*edge.Answer, error)) edge.Route {
		return edge.Route{Method: http.MethodGet, Path: Base + path, Handler: a.handler(f)}
	}
	tables := tablesAPI{stored{a.opts.Data, a.opts.Library}}
	return []edge.Route{
		get("/runs", a.listRuns),
		get("/runs/{run_id}", a.getRun),
		get("/runs/{run_id}/equity", tables.equity),
		get("/runs/{run_id}/trades", tables.table(artifact.TradesFile, "entry_time", "exit_time",
			"entry_time", "exit_time", "quantity", "pnl", "return", "fees", "duration_seconds")),
		get("/runs/{run_id}/orders", tables.table(artifact.OrdersFile, "created_at", "updated_at",
			"created_at", "updated_at", "quantity", "fee", "status")),
		get("/runs/{run_id}/fills", tables.table(artifact.FillsFile, "timestamp", "timestamp",
			"timestamp", "quantity", "fee", "slippage", "realized_pnl")),
		get("/runs/{run_id}/marks", tables.marks),
		get("/runs/{run_id}/candles", tables.runCandles),
		get("/runs/{run_id}/series", seriesAPI{a}.get),
		get("/runs/{run_id}/log", a.runLog),
		get("/runs/{run_id}/files", a.runFiles),
		get("/runs/{run_id}/files/{name}", a.runFile),
		{Method: http.MethodPost, Path: Base + "/runs/{run_id}/reveal",
			Handler: op(a, a.schemas.reveal, a.revealRun)},
		{Method: http.MethodPut, Path: Base + "/runs/{run_id}/note",
			Handler: op(a, a.schemas.note, a.putNote)},
		get("/runs/{run_id}/report.html", a.runSheet),
		get("/compare", a.compareRuns),
		get("/families", a.listFamilies),
		get("/families/{plan_id}", a.getFamily),
		get("/families/{plan_id}/trials", a.familyTrials),
		get("/falsifications", a.listFalsifications),
		get("/falsifications/{run_id}", a.getFalsification),
	}
}

// tagged is an answer with an entity tag of its bytes.
func tagged(body any) (*edge.Answer, error) { return &edge.Answer{Body: body, HashTag: true}, nil }

func (a *API) listRuns(r *http.Request) (*edge.Answer, error) {
	q := readQuery(r, "kind", "origin", "slug", "family", "status", "symbol", "timeframe", "tag", "q", "from",
		"to", "sort", "cursor", "limit")
	offset, limit := q.page(r, 200)
	ask := library.Query{
		Kind: q.word("kind", artifact.KindRun, artifact.KindTrial, artifact.KindFalsification,
			artifact.KindService, artifact.KindImported, "legacy"),
		Origin: q.word("origin", artifact.OriginLab, artifact.OriginService, artifact.OriginImported),
		Status: q.word("status", artifact.StatusRunning, artifact.StatusCompleted, artifact.StatusFailed),
		Slug:   q.text("slug"), Family: q.text("family"), Symbol: q.text("symbol"),
		Timeframe: q.text("timeframe"), Tag: q.text("tag"), Text: q.text("q"), From: q.time("from"),
		To: q.time("to"), Sort: q.word("sort", upAndDown(library.Sorts())...),
	}
	if err := q.refusal(); err != nil {
		return nil, err
	}
	return a.answerRows(r, q, ask, offset, limit)
}

// upAndDown are the orders by some names: ascending, and descending with a "-".
func upAndDown(names []string) (orders []string) {
	for _, name := range names {
		orders = append(orders, name, "-"+name)
	}
	return orders
}

// answerRows answers with a page of runs.
func (a *API) answerRows(r *http.Request, q *query, ask library.Query,
	offset, limit int) (*edge.Answer, error) {
	ask.Begin = func(runIDs []string) (from, to int) {
		offset = follow(q, runIDs, offset, func(id *string) string { return *id })
		return offset, offset + limit
	}
	page, err := a.opts.Library.List(r.Context(), ask)
	if err != nil {
		return nil, err
	}
	for i := range page.Rows {
		a.call(&page.Rows[i].Strategy)
	}
	return tagged(listOf(r, q, page.Rows, offset, page.Total))
}

// call adds what a strategy of the catalogue calls itself; another is called by its name.
func (a *API) call(s *library.Strategy) {
	s.DisplayName = s.Name
	for _, known := range a.opts.Strategies() {
		if known.Name == s.Name {
			s.DisplayName = known.DisplayName
		}
	}
}

func (a *API) getRun(r *http.Request) (*edge.Answer, error) {
	if err := readQuery(r).refusal(); err != nil {
		return nil, err
	}
	run, err := a.opts.Library.Get(r.Context(), param(r, 0))
	if err != nil {
		return nil, err
	}
	packed, err := governance{a}.packedWith(r.Context(), run.RunID)
	if err != nil {
		return nil, err
	}
	for _, c := range packed {
		run.Lineage.Candidates = append(run.Lineage.Candidates, c.CandidateRevisionID)
	}
	a.call(&run.Strategy)
	return tagged(run)
}

func pick[T any](all []T, keep func(T) bool) []T {
	out := []T{}
	for _, v := range all {
		if keep(v) {
			out = append(out, v)
		}
	}
	return out
}

// logPage is a page of the log.
type logPage struct {
	list[json.RawMessage]
	Cut bool `json:"cut"`
}

func (a *API) runLog(r *http.Request) (*edge.Answer, error) {
	q := readQuery(r, "level", "cursor", "limit")
	offset, limit := q.page(r, 200)
	level := q.word("level", "trace", "debug", "info", "warn", "error")
	if err := q.refusal(); err != nil {
		return nil, err
	}
	lines, missing, err := a.opts.Library.Log(r.Context(), param(r, 0))
	if err != nil {
		return nil, err
	}
	if level != "" {
		lines = pick(lines, func(line json.RawMessage) bool {
			var l artifact.LogLine
			return json.Unmarshal(line, &l) == nil && l.Level == level
		})
	}
	return tagged(logPage{listOf(r, q, cut(lines, offset, limit), offset, len(lines)), missing})
}

// fileList is the files of a run.
type fileList struct {
	Items []library.File `json:"items"`
}

func (a *API) runFiles(r *http.Request) (*edge.Answer, error) {
	if err := readQuery(r).refusal(); err != nil {
		return nil, err
	}
	files, err := a.opts.Library.Files(r.Context(), param(r, 0))
	if err != nil {
		return nil, err
	}
	return tagged(fileList{files})
}

func (a *API) runFile(r *http.Request) (*edge.Answer, error) {
	if err := readQuery(r).refusal(); err != nil {
		return nil, err
	}
	f, body, err := a.opts.Library.Open(r.Context(), param(r, 0), param(r, 1))
	if err != nil {
		return nil, err
	}
	// The context of a request ends with its handler, also where nothing is streamed.
	context.AfterFunc(r.Context(), func() { _ = body.Close() })
	return &edge.Answer{
		ContentType: "application/octet-stream", Tag: f.SHA256,
		Stream: func(w io.Writer) error { _, err := io.Copy(w, body); return err },
		Header: http.Header{"Content-Disposition": {"attachment"},
			"Content-Security-Policy": {"sandbox; default-src 'none'"}},
	}, nil
}

func (a *API) runSheet(r *http.Request) (*edge.Answer, error) {
	if err := readQuery(r).refusal(); err != nil {
		return nil, err
	}
	text, err := a.opts.Lab.Sheet(r.Context(), param(r, 0))
	if err != nil {
		return nil, err
	}
	const policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
	return &edge.Answer{Raw: text, ContentType: "text/html; charset=utf-8", HashTag: true,
		Header: http.Header{"Content-Security-Policy": {policy}}}, nil
}

// maxCompared is how many runs are compared at once.
const maxCompared = 8

func (a *API) compareRuns(r *http.Request) (*edge.Answer, error) {
	q := readQuery(r, "ids")
	ids := strings.Split(q.text("ids"), ",")
	if len(ids) < 2 || len(ids) > maxCompared {
		q.refuse("ids", "must name 2 to "+strconv.Itoa(maxCompared)+" runs, separated by commas", "runs")
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			q.refuse("ids", "names a run twice", "repeated")
		}
	}
	if err := q.refusal(); err != nil {
		return nil, err
	}
	compared, err := a.opts.Lab.Compare(r.Context(), ids)
	var of struct{ Split string }
	if err == nil {
		err = json.Unmarshal(compared, &of)
	}
	if err != nil {
		return nil, err
	}
	shared, err := a.opts.Library.Shared(r.Context(), ids, of.Split)
	if err != nil {
		return nil, err
	}
	trades, err := json.Marshal(shared)
	if err != nil {
		return nil, err
	}
	// compare/v1 is an object: the trades are one member more.
	return tagged(json.RawMessage(slices.Concat(bytes.TrimSuffix(compared, []byte("}")),
		[]byte(`,"trades":`), trades, []byte("}"))))
}

// revealRequest says why somebody looks.
type revealRequest struct {
	Reason string `json:"reason"`
}

// revealed is what was locked.
type revealed struct {
	RunID  string          `json:"run_id"`
	Splits []library.Split `json:"splits"`
}

func (a *API) revealRun(r *request[revealRequest]) (*edge.Answer, error) {
	if err := readQuery(r.Request).refusal(); err != nil {
		return nil, err
	}
	id := param(r.Request, 0)
	if _, err := a.opts.Library.Reveal(r.Context(), id, artifact.OriginService, r.in.Reason); err != nil {
		return nil, err
	}
	run, err := a.opts.Library.Get(r.Context(), id)
	if err != nil {
		return nil, err
	}
	out := revealed{id, pick(run.Splits, func(s library.Split) bool { return s.Role == library.RoleTest })}
	return &edge.Answer{Body: out}, nil
}

// noteRequest is what is written on a run.
type noteRequest struct {
	Tags []string `json:"tags"`
	Note string   `json:"note"`
}

// runNote is what is written on a run, with its version.
type runNote struct {
	Tags        []string `json:"tags"`
	Note        string   `json:"note"`
	NoteVersion int      `json:"note_version"`
}

func (a *API) putNote(r *request[noteRequest]) (*edge.Answer, error) {
	if err := readQuery(r.Request).refusal(); err != nil {
		return nil, err
	}
	match, err := header(r.Header, "If-Match")
	if err != nil {
		return nil, err
	}
	version, err := strconv.Atoi(strings.Trim(match, `"`))
	if err != nil || version < 0 || match != strconv.Quote(strconv.Itoa(version)) {
		return nil, problem.WithMessage(problem.MalformedRequest,
			"If-Match must be the note_version that was read, in quotes.")
	}
	n, err := a.opts.Library.SetNote(r.Context(), registry.Note{RunID: param(r.Request, 0), Version: version,
		Tags: r.in.Tags, Text: r.in.Note})
	if err != nil {
		return nil, err
	}
	return &edge.Answer{Body: runNote{append([]string{}, n.Tags...), n.Text, n.Version}}, nil
}

func (a *API) listFamilies(r *http.Request) (*edge.Answer, error) {
	q := readQuery(r, "slug", "status", "cursor", "limit")
	offset, limit := q.page(r, 200)
	status := q.word("status", library.FamilyPlanned, artifact.StatusRunning, artifact.StatusCompleted)
	if err := q.refusal(); err != nil {
		return nil, err
	}
	all, err := a.opts.Library.Families(r.Context(), q.text("slug"), status)
	if err != nil {
		return nil, err
	}
	offset = follow(q, all, offset, func(f *library.Family) string { return f.PlanID })
	return tagged(listOf(r, q, cut(all, offset, limit), offset, len(all)))
}

func (a *API) getFamily(r *http.Request) (*edge.Answer, error) {
	if err := readQuery(r).refusal(); err != nil {
		return nil, err
	}
	f, trials, err := a.opts.Library.Family(r.Context(), param(r, 0))
	if err == nil {
		f.Found, f.ResultDamage, err = a.opts.Lab.Result(r.Context(), f.Slug, f.PlanID)
	}
	if err == nil && f.Luck != nil {
		f.Luck.Observe(trials)
	}
	if err == nil {
		f.Progress, err = a.opts.Lab.Progress(r.Context(), f.Slug, f.PlanID)
	}
	if err != nil {
		return nil, err
	}
	return tagged(f)
}

func (a *API) familyTrials(r *http.Request) (*edge.Answer, error) {
	q := readQuery(r, "sort", "cursor", "limit")
	offset, limit := q.page(r, 1000)
	by := q.word("sort", upAndDown(library.TrialSorts())...)
	if err := q.refusal(); err != nil {
		return nil, err
	}
	_, trials, err := a.opts.Library.Family(r.Context(), param(r, 0))
	if err != nil {
		return nil, err
	}
	if by != "" {
		library.SortTrials(trials, by)
	}
	return tagged(listOf(r, q, cut(trials, offset, limit), offset, len(trials)))
}

func (a *API) listFalsifications(r *http.Request) (*edge.Answer, error) {
	q := readQuery(r, "cursor", "limit")
	offset, limit := q.page(r, 200)
	if err := q.refusal(); err != nil {
		return nil, err
	}
	return a.answerRows(r, q, library.Query{Kind: artifact.KindFalsification}, offset, limit)
}

func (a *API) getFalsification(r *http.Request) (*edge.Answer, error) {
	if err := readQuery(r).refusal(); err != nil {
		return nil, err
	}
	f, err := a.opts.Library.Falsification(r.Context(), param(r, 0))
	if err != nil {
		return nil, err
	}
	return tagged(f)
}

// archiveProblem returns the answer to an error of the library, nil to any other.
func archiveProblem(err error) error {
	var missing *library.NotFoundError
	var locked *library.LockedError
	var differs *artifact.MismatchError
	var compact *library.CompactError
	var refused *library.RefusedError
	switch {
	case errors.As(err, &refused):
		return invalid([]schema.Violation{{Pointer: "/query/" + refused.Name, Message: refused.Message,
			Rule: "runs"}})
	case errors.As(err, &missing) && missing.Kind == library.KindSplit:
		return invalid([]schema.Violation{{Pointer: "/query/split", Message: "is not a split of the run",
			Rule: "enum"}})
	case errors.As(err, &missing):
		code := map[string]problem.Code{library.KindFile: problem.FileNotFound,
			library.KindFamily: problem.FamilyNotFound, library.KindCandidate: problem.CandidateNotFound,
		}[missing.Kind]
		if code == "" {
			code = problem.RunNotFound
		}
		return problem.New(code).WithCause(err)
	case errors.As(err, &locked):
		return problem.New(problem.SplitLocked).WithCause(err).With("run_id", locked.RunID)
	case errors.As(err, &differs):
		return problem.New(problem.ArtifactMismatch).WithCause(err).With("run_id", differs.RunID).
			With("reason", strings.Join(differs.Problems, "; "))
	case errors.As(err, &compact):
		return problem.New(problem.RunCompact).WithCause(err).With("run_id", compact.RunID)
	case errors.Is(err, registry.ErrStale):
		return problem.New(problem.NoteChanged)
	case errors.Is(err, registry.ErrNotFound):
		return problem.New(problem.RunNotFound).WithCause(err)
	}
	return nil
}
