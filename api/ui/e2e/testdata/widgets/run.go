package main

import (
	"context"
	"errors"
	"io"

	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Describe implements strategypb.StrategyServer.
func (strategy) Describe(context.Context, *strategypb.DescribeRequest) (*strategypb.Spec, error) {
	return &strategypb.Spec{
		Name: "widgets", DisplayName: "Widgets", Version: "1.0.0", Description: "Every kind of parameter.",
		Language: "go", ProtocolVersion: wire.ProtocolVersion,
		Modes: []string{"backtest", "paper", "live"}, MinSymbols: 1, MaxSymbols: 1, ParamsSchema: schema,
		DefaultParams: defaults,
	}, nil
}

// Run implements strategypb.StrategyServer: it decides nothing and publishes two series.
func (strategy) Run(s stream) error {
	first, err := s.Recv()
	if err != nil {
		return err
	}
	if bad := check(first.GetStart().GetParams()); bad != nil {
		return s.Send(
			&strategypb.PluginMessage{Message: &strategypb.PluginMessage_Failed{Failed: &strategypb.Failed{
				Code: "INVALID_STRATEGY_PARAMS", Message: "the parameters are refused", Step: -1,
				Errors: bad}}})
	}
	if err := s.Send(
		&strategypb.PluginMessage{
			Message: &strategypb.PluginMessage_Ready{Ready: &strategypb.Ready{}}}); err != nil {
		return err
	}
	for {
		message, err := s.Recv()
		if errors.Is(err, io.EOF) || message.GetFinish() != nil || message.GetStop() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if step := message.GetStep(); step != nil {
			if err := answer(s, step); err != nil {
				return err
			}
		}
	}
}

func answer(s stream, step *strategypb.Step) error {
	if candles := step.GetCandles(); len(candles) > 0 {
		at := []int64{step.GetCloseTime()}
		if err := s.Send(
			&strategypb.PluginMessage{
				Message: &strategypb.PluginMessage_Annotations{
					Annotations: &strategypb.Annotations{Series: []*strategypb.AnnotationSeries{
						{Name: "middle", Times: at,
							Values: []float64{(candles[0].GetHigh() + candles[0].GetLow()) / 2}},
						{Name: "hour", Times: at, Values: []float64{float64(step.GetIndex() % 24)}},
					}}}}); err != nil {
			return err
		}
	}
	return s.Send(
		&strategypb.PluginMessage{
			Message: &strategypb.PluginMessage_Decision{
				Decision: &strategypb.Decision{Step: step.GetIndex()}}})
}
