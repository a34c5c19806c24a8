package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip"
)

// fileSink appends each OTLP request to a file before it acknowledges it: the
// least that a durable acknowledgement can cost. Requests that wait at the same
// time share one write and (with sync) one fsync.
type fileSink struct {
	ptraceotlp.UnimplementedGRPCServer
	f    *os.File
	sync bool
	ch   chan waitingRequest
}

// waitingRequest is a request that waits for the write and the sync that it shares with others.
type waitingRequest struct {
	b    []byte
	done chan error
}

func (s *fileSink) loop() {
	var buf []byte
	for p := range s.ch {
		waiting := []chan error{p.done}
		buf = append(binary.AppendUvarint(buf[:0], uint64(len(p.b))), p.b...)
	more:
		for len(buf) < 32<<20 {
			select {
			case q := <-s.ch:
				waiting = append(waiting, q.done)
				buf = append(binary.AppendUvarint(buf, uint64(len(q.b))), q.b...)
			default:
				break more
			}
		}
		_, err := s.f.Write(buf)
		if err == nil && s.sync {
			err = s.f.Sync()
		}
		for _, d := range waiting {
			d <- err
		}
	}
}

func (s *fileSink) put(b []byte) error {
	d := make(chan error, 1)
	s.ch <- waitingRequest{b, d}
	return <-d
}

func (s *fileSink) Export(_ context.Context, r ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	b, err := r.MarshalProto()
	if err == nil {
		err = s.put(b)
	}
	return ptraceotlp.NewExportResponse(), err
}

func runSink(addr, file string, sync bool) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	s := &fileSink{f: f, sync: sync, ch: make(chan waitingRequest, 64)}
	go s.loop()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	gs := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	ptraceotlp.RegisterGRPCServer(gs, s)
	fmt.Fprintln(os.Stderr, "sink on", addr)
	return gs.Serve(l)
}
