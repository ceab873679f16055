package v1

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/schema"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/job"
	"github.com/assay-run/assay/host/upload"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// octets is the media type of an upload.
const octets = "application/octet-stream"

// importRoutes are the operations by which candles come in.
func (j jobAPI) importRoutes() []edge.Route {
	return []edge.Route{
		{Method: http.MethodPost, Path: Base + "/uploads", Handler: j.of.handler(j.receive)},
		{Method: http.MethodPost, Path: Base + "/datasets/imports",
			Handler: op(j.of, j.of.schemas.imports, j.startImport)},
		{Method: http.MethodPost, Path: Base + "/datasets/fetches",
			Handler: op(j.of, j.of.schemas.fetch, j.startFetch)},
	}
}

// receive takes in one file. Nothing of the request names it.
func (j jobAPI) receive(r *http.Request) (*edge.Answer, error) {
	if err := readQuery(r).refusal(); err != nil {
		return nil, err
	}
	if !hasType(r.Header, octets) {
		return nil, problem.WithMessage(problem.UnsupportedMediaType,
			"A file must be sent as "+octets+" without content encoding.")
	}
	// A full queue is no reason to refuse: it has moved on by the time the file is here.
	if err := j.of.opts.Jobs.Check(); err != nil && !errors.Is(err, job.ErrQueueFull) {
		return nil, err
	}
	files, info := j.of.opts.Uploads, edge.From(r.Context())
	if err := files.Check(r.ContentLength); err != nil {
		return nil, uploadProblem(err)
	}
	limits := files.Limits()
	body := &patient{from: r.Body, patience: limits.Patience, end: time.Now().Add(limits.Life)}
	if info.Writer != nil {
		body.deadline = http.NewResponseController(info.Writer).SetReadDeadline
	}
	u, err := files.Receive(body)
	if err != nil {
		return nil, uploadProblem(err)
	}
	info.EndBody()
	return &edge.Answer{Body: u}, nil
}

// patient reads a body for as long as it goes on.
type patient struct {
	from     io.Reader
	patience time.Duration
	end      time.Time // however it goes on
	deadline func(time.Time) error
}

// Read implements io.Reader; its errors are the answer to the client.
func (p *patient) Read(b []byte) (int, error) {
	until := time.Now().Add(p.patience)
	if until.After(p.end) {
		until = p.end
	}
	if p.deadline != nil {
		_ = p.deadline(until)
	}
	n, err := p.from.Read(b)
	if err != nil && err != io.EOF {
		err = unreadable(err)
	}
	return n, err
}

// uploadProblem is the answer to an error of the uploads; others stay as they are.
func uploadProblem(err error) error {
	var large *upload.TooLargeError
	switch {
	case errors.As(err, &large):
		return problem.WithMessage(problem.BodyTooLarge, "The file is not taken: "+large.Error()+".").
			With("limit_bytes", large.Limit).WithClose()
	case errors.Is(err, upload.ErrEmpty):
		return invalid([]schema.Violation{{Message: "is empty: send the bytes of a file", Rule: "minLength"}})
	case errors.Is(err, upload.ErrClosed):
		return job.ErrClosed
	}
	return err
}

// ImportRequest is the body of POST /datasets/imports.
type ImportRequest struct {
	UploadIDs []string      `json:"upload_ids"`
	Options   ImportOptions `json:"options"`
	DryRun    bool          `json:"dry_run"`
}

// ImportOptions are those of lab data import, with _ for - and in full. Empty is not given.
type ImportOptions struct {
	Exchange       string `json:"exchange"`
	Symbol         string `json:"symbol"`
	Timeframe      string `json:"timeframe"`
	Profile        string `json:"profile"`
	Columns        string `json:"columns"`
	Ticker         string `json:"ticker"`
	TZ             string `json:"tz"`
	Stamp          string `json:"stamp"`
	DateOrder      string `json:"date_order"`
	OHLCViolations string `json:"ohlc_violations"`
	Duplicates     string `json:"duplicates"`
	Calendar       string `json:"calendar"`
	VolumeUnit     string `json:"volume_unit"`
	Merge          bool   `json:"merge"`
}

// FetchRequest is the body of POST /datasets/fetches. Without From the stored candles are updated.
type FetchRequest struct {
	Exchange   string   `json:"exchange"`
	Symbols    []string `json:"symbols"`
	Timeframe  string   `json:"timeframe"`
	From       *string  `json:"from"`
	To         *string  `json:"to"`
	Duplicates string   `json:"duplicates"`
}

// check holds the times against each other.
func (f *FetchRequest) check() []schema.Violation {
	refuse := func(format string, args ...any) []schema.Violation {
		return []schema.Violation{{Pointer: "/to", Message: fmt.Sprintf(format, args...), Rule: "order"}}
	}
	if f.To == nil {
		return nil
	}
	if f.From == nil {
		return refuse("needs from: an update goes on to the newest candle")
	}
	from, err := market.ParseTime(*f.From)
	to, other := market.ParseTime(*f.To)
	if err := errors.Join(err, other); err != nil || to <= from {
		return refuse("is not after from, %s", *f.From)
	}
	return nil
}

// CandleReport is what a job says of one series that it has read. The report is that of the
// dataset, its longest lists cut short.
type CandleReport struct {
	DatasetID string           `json:"dataset_id"`
	Exchange  string           `json:"exchange"`
	Symbol    market.Symbol    `json:"symbol"`
	Timeframe market.Timeframe `json:"timeframe"`
	Rows      int              `json:"rows"`
	First     market.Time      `json:"first"`
	Last      market.Time      `json:"last"`
	Calendar  candle.Calendar  `json:"calendar"`
	// Stored is false of a dry run.
	Stored bool          `json:"stored"`
	Report candle.Report `json:"report"`
}

func (j jobAPI) startImport(r *request[ImportRequest]) (*edge.Answer, error) {
	return j.accept(r.Request, r.body, func(ctx context.Context) (any, job.Job, error) {
		begun, err := j.of.opts.Lab.Import(ctx, r.in)
		return jobAnswer{begun}, begun, err
	})
}

func (j jobAPI) startFetch(r *request[FetchRequest]) (*edge.Answer, error) {
	return j.accept(r.Request, r.body, func(ctx context.Context) (any, job.Job, error) {
		begun, err := j.of.opts.Lab.Fetch(ctx, r.in)
		return jobAnswer{begun}, begun, err
	})
}
