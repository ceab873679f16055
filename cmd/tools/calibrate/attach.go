package main

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"

	"google.golang.org/grpc"

	"github.com/assay-run/assay/host/hosttest/cheats"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/serve"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// strategies serves the strategies of this program, each at a socket of its own.
type strategies struct {
	servers []*grpc.Server
	// reattach is the value of ASSAY_REATTACH_STRATEGIES that leads to them.
	reattach string
}

type address struct{ Network, String string }

type attachment struct {
	Protocol        string
	ProtocolVersion int
	Pid             int
	Test            bool
	Addr            address
}

// serveAll serves every strategy below a folder. Those that know prices know the markets of a seed.
func serveAll(dir string, seed uint64) (_ *strategies, err error) {
	out := &strategies{}
	defer func() {
		if err != nil {
			out.stop()
		}
	}()
	at := map[string]attachment{}
	add := func(name string, server strategypb.StrategyServer, err error) error {
		if err != nil {
			return err
		}
		listener, err := net.Listen("unix", filepath.Join(dir, name+".sock"))
		if err != nil {
			return err
		}
		g := grpc.NewServer(wire.ServerOptions()...)
		strategypb.RegisterStrategyServer(g, server)
		out.servers = append(out.servers, g)
		go func() { _ = g.Serve(listener) }() // ends by stop; until then calls would fail
		at[name] = attachment{"grpc", wire.ProtocolVersion, os.Getpid(), true,
			address{"unix", listener.Addr().String()}}
		return nil
	}
	// What repeats after 364 days, and what rests on one day of seven, reads the weekday.
	weekly := sdk.Supports{ScaleFree: true, Calendar: sdk.CalendarWeekday}
	honest, e1 := serve.NewServer(sdk.Spec{Name: noiseName, Supports: weekly},
		newNoise)
	knife, e7 := serve.NewServer(sdk.Spec{Name: numberedName, Supports: weekly},
		newNumbered)
	rests := sdk.Supports{Calendar: sdk.CalendarWeekday}
	edge, e2 := serve.NewServer(sdk.Spec{Name: plantedName, Supports: rests}, newPlanted)
	clock, e3 := serve.NewServer(sdk.Spec{Name: "clocked"}, newClocked)
	sums, e4 := serve.NewServer(sdk.Spec{Name: "summer"}, newSummer)
	counts, e5 := newCounting()
	remembers, e6 := serve.NewServer(sdk.Spec{Name: "since"}, newSince)
	if err := errors.Join(
		add(noiseName, honest, e1), add(numberedName, knife, e7), add(plantedName, edge, e2),
		add("clocked", clock, e3), add("summer", sums, e4),
		add("counter", counts, e5), add("since", remembers, e6),
	); err != nil {
		return nil, err
	}
	for _, s := range cheats.Strategies(marketsOf(seed)) {
		server, err := s.Server()
		if err := add(s.Name, server, err); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(at)
	out.reattach = string(text)
	return out, err
}

func (s *strategies) stop() {
	for _, g := range s.servers {
		g.Stop()
	}
}
