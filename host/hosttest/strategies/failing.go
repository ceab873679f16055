package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
)

// faults are how a faulty strategy fails. Stuck leaves its process id on stderr.
var faults = map[string]func(sdk.View, faultyParams) (sdk.Intents, error){
	"panics": func(_ sdk.View, p faultyParams) (sdk.Intents, error) { return deep(p.At) },
	"errs":   func(sdk.View, faultyParams) (sdk.Intents, error) { return nil, errors.New("no more") },
	"exits": func(sdk.View, faultyParams) (sdk.Intents, error) {
		fmt.Fprintln(os.Stderr, "last words")
		os.Exit(3)
		return nil, nil
	},
	"blocks": func(sdk.View, faultyParams) (sdk.Intents, error) {
		fmt.Fprintln(os.Stderr, "blocked for good")
		time.Sleep(time.Hour)
		return nil, nil
	},
	"stuck": func(sdk.View, faultyParams) (sdk.Intents, error) {
		fmt.Fprintln(os.Stderr, os.Getpid())
		select {}
	},
	"nan": func(sdk.View, faultyParams) (sdk.Intents, error) {
		return sdk.Buy(sdk.Quantity(math.NaN())), nil
	},
	"prints": func(sdk.View, faultyParams) (sdk.Intents, error) {
		fmt.Fprintln(os.Stderr, strings.Join(os.Environ(), "\n"))
		return nil, errors.New(strings.Join(os.Environ(), " "))
	},
}

type faultyParams struct {
	At    int     `param:"at" default:"137" min:"0" max:"1000000" doc:"Candle at which it happens"`
	Above float64 `param:"above" default:"0" min:"0" doc:"Close above which it happens, 0: at the candle"`
	Size  float64 `param:"size" default:"0.5" above:"0" max:"1" doc:"Share of the cash"`
}

// mark ends a program that has been mended: the bytes are all that it can know itself by.
const mark = " mended"

func mended() bool {
	f, err := os.Open("/program") // in the sandbox there is no /proc
	if err != nil {
		f, err = os.Open("/proc/self/exe")
	}
	if err != nil {
		return false
	}
	defer f.Close()
	end := make([]byte, len(mark))
	info, err := f.Stat()
	if err == nil {
		_, err = f.ReadAt(end, info.Size()-int64(len(end)))
	}
	return err == nil && string(end) == mark
}

// faulty buys at the third candle and misbehaves later.
type faulty struct {
	faultyParams
	act    func(sdk.View, faultyParams) (sdk.Intents, error)
	mended bool
}

func (m *faulty) OnCandle(v sdk.View) (sdk.Intents, error) {
	switch {
	case m.mended && v.Index() > 2:
	case m.Above > 0 && v.Candle().Close > m.Above && v.Index() >= 20,
		m.Above == 0 && v.Index() == int64(m.At):
		return m.act(v, m.faultyParams)
	case v.Index() == 2:
		return sdk.Buy(sdk.CashFraction(m.Size)).StopLoss(sdk.Percent(0.9)), nil
	}
	return nil, nil
}

// deep returns a frame of its own in the stack.
func deep(i int) (sdk.Intents, error) {
	var none sdk.Intents
	return none[i : i+1], nil
}

// maker does not come to its first candle.
type makerParams struct {
	How string `param:"how" default:"panic" enum:"panic,exit" doc:"How it fails"`
}

func newMaker(p makerParams) (sdk.Strategy, error) {
	if p.How == "exit" {
		os.Exit(5)
	}
	panic("badly made")
}

// summer adds up a map in the order in which it is ranged over.
type summer struct{ parts map[int]float64 }

func newSummer(noParams) (sdk.Strategy, error) {
	s := &summer{map[int]float64{}}
	for i := range 64 {
		s.parts[i] = math.Exp2(float64(i%40)) / 3
	}
	return s, nil
}

func (s *summer) OnCandle(v sdk.View) (sdk.Intents, error) {
	sum := 0.0
	for i := range s.parts {
		sum += s.parts[i]
	}
	last := math.Float64bits(sum) & 1
	switch {
	case v.Flat() && last == 1:
		return sdk.Buy(sdk.AllCash()), nil
	case v.Long() && last == 0:
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

// clocked decides by the wall clock.
type clocked struct{}

func newClocked(noParams) (sdk.Strategy, error) { return clocked{}, nil }

func (clocked) OnCandle(v sdk.View) (sdk.Intents, error) {
	switch {
	case v.Flat() && time.Now().UnixNano()/1000%3 == 0:
		return sdk.Buy(sdk.AllCash()), nil
	case v.Long() && time.Now().UnixNano()/1000%3 == 1:
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

// crasher fails at a candle in the middle of the data.
type crasher struct{}

func newCrasher(noParams) (sdk.Strategy, error) { return crasher{}, nil }

func (crasher) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Index() == 137 {
		return nil, errors.New("no more")
	}
	return nil, nil
}
