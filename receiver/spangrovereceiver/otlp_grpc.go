package spangrovereceiver

import (
	"context"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"

	"github.com/spangrove/spangrove/pkg/fault/verdict"
	"github.com/spangrove/spangrove/pkg/project"
)

// formatGRPC is how gRPC requests are reported: OTLP/gRPC is always protobuf.
const formatGRPC = string(encodingProto)

func (r *spangroveReceiver) registerGRPC(s *grpc.Server) {
	if r.traces != nil {
		ptraceotlp.RegisterGRPCServer(s, &traceService{r: r})
	}
	plogotlp.RegisterGRPCServer(s, &logService{r: r})
	pmetricotlp.RegisterGRPCServer(s, &metricService{r: r})
}

// call does what every gRPC request needs: it checks who asks, reserves the message's size,
// and counts refusals. Errors come back with a gRPC status.
func (r *spangroveReceiver) call(ctx context.Context, method string, size int, do func(id project.Identity) error) error {
	err := func() error {
		if !r.gate.enter() {
			return errStopping()
		}
		defer r.gate.leave()
		id, err := mayWrite(ctx)
		if err != nil {
			return err
		}
		if !r.budget.take(int64(size)) {
			return errBusy()
		}
		defer r.budget.release(int64(size))
		return do(id)
	}()
	r.observe(ctx, method, err)
	return verdict.GRPC(err)
}

type traceService struct {
	ptraceotlp.UnimplementedGRPCServer
	r *spangroveReceiver
}

// Export implements ptraceotlp.GRPCServer.
func (s *traceService) Export(ctx context.Context, req ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	td := req.Traces()
	var rejected int
	err := s.r.call(ctx, "OTLP gRPC traces", (&ptrace.ProtoMarshaler{}).TracesSize(td), func(id project.Identity) (err error) {
		rejected, err = s.r.pushTraces(ctx, s.r.viaGRPC, formatGRPC, td, id)
		return err
	})
	return tracesAnswer(rejected), err
}

type logService struct {
	plogotlp.UnimplementedGRPCServer
	r *spangroveReceiver
}

// Export implements plogotlp.GRPCServer.
func (s *logService) Export(ctx context.Context, req plogotlp.ExportRequest) (plogotlp.ExportResponse, error) {
	ld := req.Logs()
	err := s.r.call(ctx, "OTLP gRPC logs", (&plog.ProtoMarshaler{}).LogsSize(ld), func(id project.Identity) error {
		return s.r.pushLogs(ctx, s.r.viaGRPC, formatGRPC, ld, id)
	})
	return plogotlp.NewExportResponse(), err
}

type metricService struct {
	pmetricotlp.UnimplementedGRPCServer
	r *spangroveReceiver
}

// Export implements pmetricotlp.GRPCServer by dropping what comes, as dropMetrics does.
func (s *metricService) Export(ctx context.Context, _ pmetricotlp.ExportRequest) (pmetricotlp.ExportResponse, error) {
	err := s.r.call(ctx, "OTLP gRPC metrics", 0, func(project.Identity) error {
		s.r.metrics.drop(ctx, "metrics", 1)
		return nil
	})
	return pmetricotlp.NewExportResponse(), err
}
