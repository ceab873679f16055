package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// figures are what a load came to.
type figures struct {
	count          int
	bytes          int64
	rate           float64 // per second
	median, p99    time.Duration
	first          time.Duration // longest until the first byte
	durations, ttf []time.Duration
}

func post(body string) string {
	return "POST /api/v1/run/backtest HTTP/1.1\r\nHost: localhost\r\nContent-Type: " +
		"application/json\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// load sends a request so many times over so many connections. It reads as little of
// the answers as it can: client and server share the processors.
func load(addr, request string, conns, count int) (figures, error) {
	parts := make([]figures, conns)
	errs := make(chan error, conns)
	var wg sync.WaitGroup
	began := time.Now()
	for i := range parts {
		wg.Go(func() {
			n := count / conns
			if i < count%conns {
				n++
			}
			errs <- parts[i].repeat(addr, []byte(request), n)
		})
	}
	wg.Wait()
	took := time.Since(began)
	var all figures
	for i := range parts {
		if err := <-errs; err != nil {
			return all, err
		}
		all.bytes += parts[i].bytes
		all.durations = append(all.durations, parts[i].durations...)
		all.ttf = append(all.ttf, parts[i].ttf...)
	}
	slices.Sort(all.durations)
	all.count = len(all.durations)
	all.rate = float64(all.count) / took.Seconds()
	all.median, all.p99, all.first = all.durations[all.count/2], all.durations[all.count*99/100],
		slices.Max(all.ttf)
	return all, nil
}

func (f *figures) repeat(addr string, request []byte, n int) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	r := bufio.NewReaderSize(c, 64<<10)
	for range n {
		began := time.Now()
		if _, err := c.Write(request); err != nil {
			return err
		}
		if _, err := r.Peek(1); err != nil {
			return err
		}
		f.ttf = append(f.ttf, time.Since(began))
		size, err := skipAnswer(r)
		if err != nil {
			return err
		}
		f.bytes += size
		f.durations = append(f.durations, time.Since(began))
	}
	return nil
}

// skipAnswer reads one answer and returns the size of its body.
func skipAnswer(r *bufio.Reader) (int64, error) {
	length, chunked := int64(-1), false
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimSpace(line)
		switch {
		case first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) &&
			!bytes.HasPrefix(line, []byte("HTTP/1.1 400")):
			return 0, fmt.Errorf("the answer is %s", line)
		case len(line) == 0 && chunked:
			return skipChunks(r)
		case len(line) == 0:
			_, err := io.CopyN(io.Discard, r, length)
			return length, err
		case bytes.HasPrefix(line, []byte("Content-Length: ")):
			if length, err = strconv.ParseInt(string(line[16:]), 10, 64); err != nil {
				return 0, err
			}
		case bytes.HasPrefix(line, []byte("Transfer-Encoding: chunked")):
			chunked = true
		}
	}
}

func skipChunks(r *bufio.Reader) (total int64, err error) {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return total, err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 64)
		if err != nil {
			return total, err
		}
		if _, err := io.CopyN(io.Discard, r, n+2); err != nil {
			return total, err
		}
		if total += n; n == 0 {
			return total, nil
		}
	}
}
