package witness

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/translog"
)

const (
	textPlain = "text/plain; charset=utf-8"
	textSize  = "text/x.tlog.size"
)

// Handler is the HTTP side of a witness by C2SP tlog-witness: POST /add-checkpoint; beside it what it has
// cosigned last of a log (/checkpoints/ORIGIN), its verifier key and its health.
func (w *Witness) Handler(hosts edge.Hosts, logger hclog.Logger) http.Handler {
	get := func(path string, answer func(*http.Request) *edge.Answer) edge.Route {
		return edge.Route{Method: http.MethodGet, Path: path, Handler: send(answer)}
	}
	e, err := edge.New(edge.Config{Hosts: hosts, Methods: []string{"GET", "HEAD", "POST"},
		Vary: "Accept-Encoding", Deny: deny, Logger: logger, Routes: []edge.Route{
			{Method: http.MethodPost, Path: "/add-checkpoint",
				Handler: send(func(r *http.Request) *edge.Answer { return w.add(r, logger) })},
			get("/checkpoints/{origin}", func(r *http.Request) *edge.Answer {
				return answer(w.Last(edge.From(r.Context()).Params[0]))
			}),
			get("/"+VKeyFile, func(*http.Request) *edge.Answer { return plain(200, w.key.VKey()+"\n") }),
			get("/health", func(*http.Request) *edge.Answer { return plain(200, "healthy\n") }),
		}})
	if err != nil {
		panic(err) // two routes of one method and path
	}
	return e
}

// send sends an answer; there are no others.
func send(make func(*http.Request) *edge.Answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = edge.Send(w, r, make(r)) // its bytes are made
	})
}

func plain(status int, text string) *edge.Answer {
	return &edge.Answer{Raw: []byte(text), ContentType: textPlain, Status: status}
}

// answer is a text, or the refusal in its place.
func answer(text string, err error) *edge.Answer {
	var refused *Refusal
	switch {
	case errors.As(err, &refused) && refused.Status == http.StatusConflict:
		return &edge.Answer{Raw: []byte(strconv.FormatInt(refused.Size, 10) + "\n"), ContentType: textSize,
			Status: refused.Status}
	case errors.As(err, &refused):
		return plain(refused.Status, refused.Message+"\n")
	case err != nil:
		return plain(http.StatusInternalServerError, "the witness could not do it\n")
	}
	return plain(http.StatusOK, text)
}

// add is POST /add-checkpoint.
func (w *Witness) add(r *http.Request, logger hclog.Logger) *edge.Answer {
	info := edge.From(r.Context())
	body, err := io.ReadAll(io.LimitReader(r.Body, translog.MaxExtension+1))
	if err != nil || len(body) > translog.MaxExtension {
		a := plain(http.StatusRequestEntityTooLarge, "the body is too long, or broke off\n")
		a.Header = http.Header{"Connection": {"close"}}
		return a
	}
	info.EndBody()
	e, err := translog.ParseExtension(string(body))
	if err != nil {
		return plain(http.StatusBadRequest, err.Error()+"\n")
	}
	line, err := w.Add(e)
	claimed, _ := translog.PeekCheckpoint(e.Note) // was read
	var refused *Refusal
	switch {
	case err == nil:
		logger.Info("cosigned", "checkpoint", claimed.String(), "old", e.Old)
	case errors.As(err, &refused):
		logger.Warn("not cosigned", "checkpoint", claimed.String(), "old", e.Old, "status", refused.Status,
			"reason", refused.Message)
	default:
		logger.Error("not cosigned", "checkpoint", claimed.String(), "error", err)
	}
	return answer(line, err)
}

// problem is a refusal of the edge.
type problem struct {
	denial edge.Denial
}

func deny(d edge.Denial) edge.Problem { return &problem{d} }

// Error implements error.
func (p *problem) Error() string { return p.denial.Reason.Code() }

// Status implements edge.Problem.
func (p *problem) Status() int {
	if s, ok := map[edge.Reason]int{
		edge.ExpectationFailed: 417, edge.HeadersTooLarge: 431, edge.TransferEncoding: 501,
		edge.HTTPVersion: 505, edge.HostForbidden: 403, edge.NotFound: 404, edge.MethodNotAllowed: 405,
		edge.OriginForbidden: 403, edge.Internal: 500,
	}[p.denial.Reason]; ok {
		return s
	}
	return http.StatusBadRequest
}

// Extra implements edge.Problem.
func (p *problem) Extra() (http.Header, bool) {
	return nil, p.denial.Reason == edge.HTTPVersion || p.denial.Reason == edge.FramedTwice ||
		p.denial.Reason == edge.Internal
}

// Body implements edge.Problem.
func (p *problem) Body(string, string) []byte {
	return []byte(`{"error":{"code":"` + p.denial.Reason.Code() + `"}}`)
}

// Refuse is the answer to what net/http refuses by itself, for listeners of a witness.
func Refuse(status int, now time.Time) (int, http.Header, []byte) {
	return edge.RefuseWith("Accept-Encoding", deny)(status, now)
}
