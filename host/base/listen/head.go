package listen

import (
	"bytes"
	"sync"
)

// head keeps the header of the request at hand as it was sent. net/http tells
// handlers nothing of a Content-Length that stands beside a Transfer-Encoding.
type head struct {
	mu    sync.Mutex
	text  []byte
	whole bool
	// skipped says that an empty line before the request was left out: one may be.
	skipped bool
}

const emptyLine = "\r\n"

// headKept is the buffer that a connection keeps from one request to the next.
const headKept = 4096

// add takes in what has been read, up to the end of the header.
func (h *head) add(p []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.whole || len(p) == 0 {
		return
	}
	from := max(0, len(h.text)-len("\n\r"))
	h.text = append(h.text, p...)
	end := bytes.Index(h.text[from:], []byte("\n\r\n"))
	if other := bytes.Index(h.text[from:], []byte("\n\n")); other >= 0 && (end < 0 || other < end) {
		end = other
	}
	if end >= 0 {
		h.text = h.text[:from+end+1]
	}
	h.whole = end >= 0 || len(h.text) > maxHeader
}

// begins reports whether an empty line may come next: nothing of the request was read.
func (h *head) begins() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.text) == 0 && !h.whole && !h.skipped
}

// skip reports whether what was read begins with an empty line that stands before the
// request.
func (h *head) skip(p []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.text) > 0 || h.whole || h.skipped {
		return false
	}
	h.skipped = bytes.HasPrefix(p, []byte(emptyLine))
	return h.skipped
}

// reset makes room for the next request.
func (h *head) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text, h.whole, h.skipped = h.text[:0], false, false
	if cap(h.text) > headKept {
		h.text = nil
	}
}

// framedTwice says whether the request that begins with start has a Content-Length.
// Of a request that was sent before the answer to the one ahead of it too little is
// known: the answer is no.
func (h *head) framedTwice(start string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := bytes.Split(h.text, []byte("\n"))
	if !h.whole || !bytes.HasPrefix(lines[0], []byte(start)) {
		return false
	}
	for _, line := range lines[1:] {
		name, _, found := bytes.Cut(line, []byte(":"))
		if found && bytes.EqualFold(name, []byte("Content-Length")) {
			return true
		}
	}
	return false
}
