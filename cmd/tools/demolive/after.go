package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	gb "github.com/adshao/go-binance/v2"
)

// lease is lease.json.
type lease struct {
	Reason      string   `json:"reason"`
	Cancelled   []string `json:"cancelled"`
	Unconfirmed []string `json:"unconfirmed"`
	Kept        []string `json:"kept"`
}

// status is what the demonstration reads of /status.
type status struct {
	Status, Phase, Error string
	Orders               []order `json:"recent_orders"`
	Details              struct {
		Code, Phase string
		Data        struct {
			Open      []string          `json:"open_orders"`
			Unknown   []string          `json:"unknown_orders"`
			Positions map[string]string `json:"positions"`
			Lease     *lease            `json:"lease"`
		}
	} `json:"error_details"`
}

// order is one of /results.
type order struct {
	ID       string `json:"order_id"`
	Exchange string `json:"exchange_order_id"`
	Symbol   string
	Side     string
	Type     string
	Status   string
	Quantity json.Number
}

// swept waits until the connector has looked after the orders of the run: it leaves what protects the
// position.
func (d *demo) swept(ctx context.Context) error {
	begun := time.Now()
	var report lease
	err := d.until(ctx, 40*time.Second, "lease.json", func() (bool, error) {
		files, err := filepath.Glob(filepath.Join(d.state, "live", "*", "lease.json"))
		if err != nil || len(files) == 0 {
			return false, err
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			return false, err
		}
		return true, json.Unmarshal(text, &report)
	})
	if err != nil {
		return err
	}
	took := time.Since(begun)
	err = d.until(ctx, 10*time.Second, "the end of the connector", func() (bool, error) {
		return d.connector == 0 || !alive(d.connector), nil
	})
	if err != nil {
		return err
	}
	open, err := d.venue.open(ctx)
	if err != nil {
		return err
	}
	d.step("The connector is a process of its own and keeps a lease (%s). It cancels entries and leaves "+
		"what protects the position:", report.Reason)
	for _, id := range report.Kept {
		d.say("%s stands", id)
	}
	for _, id := range report.Cancelled {
		d.say("%s cancelled", id)
	}
	d.say("%.1f s after the kill lease.json says so, the exchange has %d open orders, and the connector "+
		"has ended.", took.Seconds(), open)
	switch {
	case open != len(report.Kept) || len(report.Unconfirmed) > 0:
		return fmt.Errorf("%d orders are open, %v kept, %v unconfirmed", open, report.Kept,
			report.Unconfirmed)
	case len(report.Kept) == 0:
		return errors.New("lease.json names no exit")
	}
	return nil
}

// reopen starts the service again, which must say what happened.
func (d *demo) reopen(ctx context.Context) error {
	if err := d.startHost(ctx); err != nil {
		return err
	}
	var s status
	if err := d.call(ctx, "GET", "/status", "", &s); err != nil {
		return err
	}
	d.step("The service is started again (process %d): the run is %s, %s, last phase %s.", d.host.pid(),
		s.Status, s.Details.Code, s.Details.Phase)
	d.say("%s", s.Error)
	for symbol, quantity := range s.Details.Data.Positions {
		d.say("Positions are kept: %s of %s.", quantity, symbol)
	}
	if s.Status != "failed" || s.Details.Code != "RUN_INTERRUPTED" || s.Details.Phase != "trading" ||
		s.Details.Data.Lease == nil {
		return fmt.Errorf("the status after the restart is %+v", s)
	}
	return nil
}

// account holds every order of the exchange against what the service knows of it.
func (d *demo) account(ctx context.Context) error {
	var s status
	var results struct{ Orders []order }
	if err := errors.Join(d.call(ctx, "GET", "/status", "", &s),
		d.call(ctx, "GET", "/results", "", &results)); err != nil {
		return err
	}
	data := s.Details.Data
	d.step("Every order of the exchange, and what the journal of the killed service knows of it:")
	orders, err := d.venue.orders(ctx)
	if err != nil {
		return err
	}
	for _, at := range orders {
		i := slices.IndexFunc(results.Orders, func(o order) bool {
			return o.Exchange == fmt.Sprint(at.OrderID)
		})
		known := "is not in the results"
		if i >= 0 {
			known = results.Orders[i].ID + " was " + results.Orders[i].Status
		}
		if slices.Contains(data.Unknown, at.ClientOrderID) {
			known = "had an unknown fate"
		}
		kept, swept := slices.Contains(data.Lease.Kept, at.ClientOrderID),
			slices.Contains(data.Lease.Cancelled, at.ClientOrderID)
		switch {
		case kept:
			known += ", left by the lease"
		case swept:
			known += ", cancelled by the lease"
		}
		d.say("order %d, %s: %s there; %s", at.OrderID, at.ClientOrderID, at.Status, known)
		open := slices.Contains(data.Open, at.ClientOrderID) ||
			slices.Contains(data.Unknown, at.ClientOrderID)
		switch {
		case i < 0 && !open:
			return fmt.Errorf("order %d of the exchange is nowhere in the journal", at.OrderID)
		case at.Status == "FILLED" && !open && results.Orders[i].Status != "filled", at.Status == "NEW" &&
			!kept, at.Status == "CANCELED" && !swept:
			return fmt.Errorf("order %d is %s and the service does not know why", at.OrderID, at.Status)
		case at.Status != "FILLED" && at.Status != "NEW" && at.Status != "CANCELED":
			return fmt.Errorf("order %d is %s", at.OrderID, at.Status)
		}
	}
	for _, o := range results.Orders {
		there := slices.ContainsFunc(orders, func(at *gb.Order) bool {
			return fmt.Sprint(at.OrderID) == o.Exchange
		})
		if o.Exchange != "" && !there {
			return fmt.Errorf("the exchange has no order %s, which %s is said to be", o.Exchange, o.ID)
		}
	}
	return nil
}

// reset clears the run and ends the service in good order.
func (d *demo) reset(ctx context.Context) error {
	if err := d.call(ctx, "DELETE", "/run/reset", "", nil); err != nil {
		return err
	}
	var s status
	if err := d.call(ctx, "GET", "/status", "", &s); err != nil {
		return err
	}
	d.step("A reset clears it: the service is %s.", s.Status)
	if s.Status != "idle" {
		return errors.New("it should be idle")
	}
	if err := d.host.end(syscall.SIGTERM); err != nil {
		return err
	}
	if code := d.host.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("the service ended with %d", code)
	}
	return nil
}
