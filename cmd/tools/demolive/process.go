package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	gb "github.com/adshao/go-binance/v2"
	"github.com/adshao/go-binance/v2/common"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/testvenue"
)

// process is a program that this one has started.
type process struct {
	cmd    *exec.Cmd
	errs   *hosttest.Buffer
	exited chan struct{}
}

// stderr returns what a process wrote on standard error.
func (p *process) stderr() string { return strings.TrimSpace(p.errs.String()) }

// start runs a program and waits for the line that begins with a word; the rest of that line
// is returned.
func (d *demo) start(ctx context.Context, word, name string, args ...string) (*process, string, error) {
	p := &process{cmd: exec.Command(name, args...), errs: &hosttest.Buffer{}, exited: make(chan struct{})}
	p.cmd.Stderr = p.errs
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("%w: run make build first", err)
	}
	d.processes = append(d.processes, p)
	found := make(chan string, 1)
	go func() {
		defer close(p.exited)
		for in := bufio.NewScanner(out); in.Scan(); {
			if rest, ok := strings.CutPrefix(in.Text(), word); ok {
				select {
				case found <- strings.TrimSpace(rest):
				default:
				}
			}
		}
		_ = p.cmd.Wait() // the exit code is read where it matters
	}()
	timer := time.NewTimer(30 * time.Second)
	defer timer.Stop()
	select {
	case line := <-found:
		return p, line, nil
	case <-p.exited:
		return nil, "", fmt.Errorf("%s ended: %s", name, p.stderr())
	case <-timer.C:
		return nil, "", fmt.Errorf("%s does not start: %s", name, p.stderr())
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// end signals the process, if it is there, and waits for it.
func (p *process) end(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	timer := time.NewTimer(40 * time.Second)
	defer timer.Stop()
	select {
	case <-p.exited:
		return nil
	case <-timer.C:
		_ = p.cmd.Process.Kill() // the error below reports it
		<-p.exited
		return fmt.Errorf("process %d did not end: %s", p.pid(), p.stderr())
	}
}

// child returns the connector that pid has started; 0 where the system does not tell.
func child(pid int) int {
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, e := range entries {
		stat, err := os.ReadFile(filepath.Join(e, "stat"))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		name, _ := os.ReadFile(filepath.Join(e, "cmdline"))
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) && bytes.HasPrefix(name, []byte("binance")) {
			n, _ := strconv.Atoi(filepath.Base(e))
			return n
		}
	}
	return 0
}

// alive reports whether a process runs and is no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// until asks again and again.
func (d *demo) until(ctx context.Context, limit time.Duration, what string, ask func() (bool, error)) error {
	for deadline := time.Now().Add(limit); ; {
		ok, err := ask()
		if err != nil || ok {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("there was no %s within %s: %s", what, limit, d.host.stderr())
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// call makes a request of the API.
func (d *demo) call(ctx context.Context, method, path, body string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, d.api+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// venue asks the exchange itself, past the service.
type venue struct{ client *gb.Client }

const venueSymbol = "BTCUSDT"

func newVenue(url string) venue {
	c := gb.NewClient(testvenue.DefaultKey, testvenue.DefaultSecret)
	c.BaseURL, c.Logger = url, log.New(io.Discard, "", 0)
	return venue{c}
}

// open returns how many orders are open.
func (v venue) open(ctx context.Context) (int, error) {
	list, err := v.client.NewListOpenOrdersService().Symbol(venueSymbol).Do(ctx)
	return len(list), err
}

// orders are all that were ever accepted: the exchange numbers them from 1.
func (v venue) orders(ctx context.Context) (list []*gb.Order, err error) {
	const noSuchOrder = -2013
	for id := int64(1); ; id++ {
		o, err := v.client.NewGetOrderService().Symbol(venueSymbol).OrderID(id).Do(ctx)
		if no := new(common.APIError); errors.As(err, &no) && no.Code == noSuchOrder {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
}
