package spangrovereceiver

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"github.com/spangrove/spangrove/pkg/fault/verdict"
	"github.com/spangrove/spangrove/pkg/limit"
	"github.com/spangrove/spangrove/pkg/project"
)

// The gRPC services are registered by hand, with messages that are plain bytes, and not
// through pdata: gRPC decodes a message before anybody is authenticated, and pdata's decoder
// must not see a message that was not checked for its depth. So gRPC and HTTP share one way.

// registerGRPC serves OTLP's three services.
func (r *spangroveReceiver) registerGRPC(s *grpc.Server) {
	const prefix, suffix = "opentelemetry.proto.collector.", "Service"
	if r.traces != nil {
		s.RegisterService(r.exportService(prefix+"trace.v1.Trace"+suffix, r.tracesVia(r.viaGRPC)), r)
	}
	s.RegisterService(r.exportService(prefix+"logs.v1.Logs"+suffix, r.logsVia(r.viaGRPC)), r)
	s.RegisterService(r.exportService(prefix+"metrics.v1.Metrics"+suffix, r.dropMetrics), r)
}

// exportService describes a service with OTLP's only method, Export.
func (r *spangroveReceiver) exportService(name string, h otlpHandler) *grpc.ServiceDesc {
	const method = "Export"
	full := "/" + name + "/" + method
	return &grpc.ServiceDesc{
		ServiceName: name,
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: method,
			Handler: func(srv any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
				in := new(message)
				if err := decode(in); err != nil {
					return nil, err
				}
				defer in.free()
				serve := func(ctx context.Context, _ any) (any, error) {
					answer, err := r.call(ctx, full, in.buffer.ReadOnlyData(), h)
					return &message{buffer: mem.SliceBuffer(answer)}, err
				}
				if intercept == nil {
					return serve(ctx, in)
				}
				return intercept(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: full}, serve)
			},
		}},
	}
}

// call does what every gRPC request needs: it checks who asks, reserves the message's size,
// and counts refusals. Errors come back with a gRPC status.
func (r *spangroveReceiver) call(ctx context.Context, method string, body []byte, h otlpHandler) (answer []byte, err error) {
	err = r.inside(ctx, func(id project.Identity) error {
		size := int64(len(body))
		if !r.budget.take(size) {
			return errBusy()
		}
		defer r.budget.release(size)
		limit.Charge(ctx, len(body))
		response, err := h(ctx, encodingProto, body, id)
		if err == nil && response != nil {
			answer, err = response.MarshalProto()
		}
		return err
	})
	r.observe(ctx, method, err)
	return answer, verdict.GRPC(err)
}

// message is a gRPC message that is not decoded.
type message struct {
	buffer mem.Buffer
}

func (m *message) free() {
	if m.buffer != nil {
		m.buffer.Free()
	}
}

// rawCodec hands messages over as they are.
type rawCodec struct{}

// Marshal implements encoding.CodecV2.
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*message)
	if !ok {
		return nil, fmt.Errorf("cannot write %T", v)
	}
	return mem.BufferSlice{m.buffer}, nil
}

// Unmarshal implements encoding.CodecV2.
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*message)
	if !ok {
		return fmt.Errorf("cannot read %T", v)
	}
	m.buffer = data.MaterializeToBuffer(mem.DefaultBufferPool())
	return nil
}

// Name implements encoding.CodecV2: on the wire it is protobuf.
func (rawCodec) Name() string { return "proto" }
