package wire

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/connectorpb"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// server translates messages for a guard. A call that could not be understood is an
// InvalidArgument; what a venue answered is in the Result of the reply.
type server struct {
	connectorpb.UnimplementedConnectorServer
	guard  *guard
	called func() // at the first call; may be nil
}

// ok is the Result of a read that succeeded.
func ok() *connectorpb.Result {
	return &connectorpb.Result{Outcome: connectorpb.Outcome_OUTCOME_ACCEPTED}
}

// outcome is the Result of a read.
func outcome(err error) *connectorpb.Result {
	var answer *exchange.Error
	switch {
	case err == nil:
		return ok()
	case errors.As(err, &answer):
		if answer.Result.Outcome == exchange.Accepted {
			answer = &exchange.Error{Result: exchange.Result{Outcome: exchange.Unknown, Message: answer.Result.Message}}
		}
		return resultToProto(answer.Result)
	}
	return resultToProto(exchange.Result{Outcome: exchange.Unknown, Message: err.Error()})
}

func invalid(err error) error { return status.Error(codes.InvalidArgument, clip(err.Error())) }

// Describe implements connectorpb.ConnectorServer.
func (s *server) Describe(ctx context.Context, _ *connectorpb.DescribeRequest) (*connectorpb.Description, error) {
	d, err := s.guard.Describe(ctx)
	if err != nil {
		return nil, status.Error(codes.Internal, clip(err.Error()))
	}
	return descriptionToProto(d), nil
}

// Open implements connectorpb.ConnectorServer.
func (s *server) Open(ctx context.Context, p *connectorpb.OpenRequest) (*connectorpb.OpenReply, error) {
	q, err := openRequestFromProto(p)
	if err != nil {
		return nil, invalid(err)
	}
	out, err := s.guard.Open(ctx, q)
	return openedToProto(out, err), nil
}

// Markets implements connectorpb.ConnectorServer.
func (s *server) Markets(ctx context.Context, _ *connectorpb.MarketsRequest) (*connectorpb.MarketsReply, error) {
	list, err := s.guard.Markets(ctx)
	return &connectorpb.MarketsReply{Result: outcome(err), Markets: listToProto(list, marketToProto)}, nil
}

// Candles implements connectorpb.ConnectorServer.
func (s *server) Candles(ctx context.Context, p *connectorpb.CandlesRequest) (*connectorpb.CandlesReply, error) {
	list, err := s.guard.Candles(ctx, exchange.CandleQuery{
		Symbol: market.Symbol(p.GetSymbol()), From: market.Time(p.GetFrom()), To: market.Time(p.GetTo()), Limit: int(p.GetLimit()),
	})
	return &connectorpb.CandlesReply{Result: outcome(err), Candles: listToProto(list, candleToProto)}, nil
}

// StreamCandles implements connectorpb.ConnectorServer.
func (s *server) StreamCandles(_ *connectorpb.StreamCandlesRequest, stream grpc.ServerStreamingServer[connectorpb.CandleEvent]) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	err := s.guard.StreamCandles(ctx, func(e exchange.CandleEvent) {
		if stream.Send(candleEventToProto(e)) != nil {
			cancel()
		}
	})
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, exchange.ErrEnded):
		return stream.Send(&connectorpb.CandleEvent{Event: &connectorpb.CandleEvent_Ended{Ended: &connectorpb.Ended{}}})
	}
	return stream.Send(&connectorpb.CandleEvent{Event: &connectorpb.CandleEvent_Failed{Failed: ended(err)}})
}

// ended is why a stream gave up; without a reason of its own that is a fault too.
func ended(err error) *connectorpb.Result {
	if err == nil {
		err = errors.New("the stream ended without a reason")
	}
	return outcome(err)
}

// Submit implements connectorpb.ConnectorServer.
func (s *server) Submit(ctx context.Context, p *connectorpb.SubmitRequest) (*connectorpb.OrderReply, error) {
	q, err := submitFromProto(p)
	if err != nil {
		return notSent(err), nil
	}
	r, o := s.guard.Submit(ctx, q)
	return reply(r, o), nil
}

func reply(r exchange.Result, o exchange.Order) *connectorpb.OrderReply {
	return &connectorpb.OrderReply{Result: resultToProto(r), Order: orderToProto(o)}
}

// notSent is the answer to a request that makes no sense.
func notSent(err error) *connectorpb.OrderReply {
	return reply(exchange.Result{Outcome: exchange.NotSent, Message: err.Error()}, exchange.Order{})
}

// SubmitPair implements connectorpb.ConnectorServer.
func (s *server) SubmitPair(ctx context.Context, p *connectorpb.SubmitPairRequest) (*connectorpb.PairReply, error) {
	q, err := pairFromProto(p)
	if err != nil {
		return &connectorpb.PairReply{Result: notSent(err).Result}, nil
	}
	r, legs := s.guard.SubmitPair(ctx, q)
	return &connectorpb.PairReply{Result: resultToProto(r), Limit: orderToProto(legs[0]), Stop: orderToProto(legs[1])}, nil
}

// Cancel implements connectorpb.ConnectorServer.
func (s *server) Cancel(ctx context.Context, p *connectorpb.OrderRef) (*connectorpb.OrderReply, error) {
	ref, err := refFromProto(p)
	if err != nil {
		return notSent(err), nil
	}
	return reply(s.guard.Cancel(ctx, ref)), nil
}

// Query implements connectorpb.ConnectorServer.
func (s *server) Query(ctx context.Context, p *connectorpb.OrderRef) (*connectorpb.OrderReply, error) {
	ref, err := refFromProto(p)
	if err != nil {
		return notSent(err), nil
	}
	return reply(s.guard.Query(ctx, ref)), nil
}

// OpenOrders implements connectorpb.ConnectorServer.
func (s *server) OpenOrders(ctx context.Context, _ *connectorpb.OpenOrdersRequest) (*connectorpb.OpenOrdersReply, error) {
	list, err := s.guard.OpenOrders(ctx)
	return &connectorpb.OpenOrdersReply{Result: outcome(err), Orders: listToProto(list, orderToProto)}, nil
}

// Fills implements connectorpb.ConnectorServer.
func (s *server) Fills(ctx context.Context, p *connectorpb.FillsRequest) (*connectorpb.FillsReply, error) {
	page, err := s.guard.Fills(ctx, market.Symbol(p.GetSymbol()), market.Time(p.GetSince()))
	return &connectorpb.FillsReply{Result: outcome(err), Fills: listToProto(page.Fills, fillToProto), Complete: page.Complete && err == nil}, nil
}

// Balances implements connectorpb.ConnectorServer.
func (s *server) Balances(ctx context.Context, _ *connectorpb.BalancesRequest) (*connectorpb.BalancesReply, error) {
	list, err := s.guard.Balances(ctx)
	return &connectorpb.BalancesReply{Result: outcome(err), Balances: listToProto(list, balanceToProto)}, nil
}

// StreamAccount implements connectorpb.ConnectorServer.
func (s *server) StreamAccount(_ *connectorpb.StreamAccountRequest, stream grpc.ServerStreamingServer[connectorpb.AccountEvent]) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	err := s.guard.StreamAccount(ctx, func(e exchange.AccountEvent) {
		if stream.Send(accountEventToProto(e)) != nil {
			cancel()
		}
	})
	if ctx.Err() != nil {
		return nil
	}
	return stream.Send(&connectorpb.AccountEvent{Event: &connectorpb.AccountEvent_Failed{Failed: ended(err)}})
}

// ArmDeadMan implements connectorpb.ConnectorServer.
func (s *server) ArmDeadMan(ctx context.Context, p *connectorpb.ArmDeadManRequest) (*connectorpb.ArmDeadManReply, error) {
	err := s.guard.ArmDeadMan(ctx, time.Duration(p.GetTtlMs())*time.Millisecond)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, status.Error(codes.Unimplemented, "the exchange has no such switch")
	}
	return &connectorpb.ArmDeadManReply{Result: outcome(err)}, nil
}

// Lease implements connectorpb.ConnectorServer.
func (s *server) Lease(stream grpc.BidiStreamingServer[connectorpb.Beat, connectorpb.Ack]) error {
	for {
		beat, err := stream.Recv()
		if err != nil {
			s.guard.broken()
			return nil
		}
		ack, err := s.guard.Beat(stream.Context(), beat.GetSeq())
		if err != nil {
			return status.Error(codes.FailedPrecondition, clip(err.Error()))
		}
		if err := stream.Send(ackToProto(beat.GetSeq(), ack)); err != nil {
			s.guard.broken()
			return nil
		}
	}
}

// Close implements connectorpb.ConnectorServer.
func (s *server) Close(ctx context.Context, p *connectorpb.CloseRequest) (*connectorpb.CloseReply, error) {
	left, err := s.guard.Close(ctx, p.GetCancelOpen())
	return &connectorpb.CloseReply{Result: outcome(err), Unconfirmed: texts(left)}, nil
}

// recovered turns a panic into an error, which is Unknown at the host. The text of the
// panic is redacted like any other.
func (s *server) recovered(err *error) {
	if p := recover(); p != nil {
		*err = status.Error(codes.Internal, clip(s.guard.redact.Text(panicText(p))))
	}
}

func (s *server) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (_ any, err error) {
	s.first()
	defer s.recovered(&err)
	return next(ctx, req)
}

func (s *server) stream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	s.first()
	defer s.recovered(&err)
	return next(srv, stream)
}

func (s *server) first() {
	if s.called != nil {
		s.called()
	}
}
