package spangrovereceiver

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
)

var componentType = component.MustNewType("spangrove")

const stability = component.StabilityLevelBeta

// NewFactory returns the factory of the receiver type spangrove, for traces and logs.
func NewFactory() receiver.Factory {
	s := &shared{byConfig: map[*Config]*spangroveReceiver{}}
	return receiver.NewFactory(componentType, createDefaultConfig,
		receiver.WithTraces(s.createTraces, stability), receiver.WithLogs(s.createLogs, stability))
}

// shared gives the traces and the logs pipeline of one configuration the same receiver, since
// both need the same listeners.
type shared struct {
	mu       sync.Mutex
	byConfig map[*Config]*spangroveReceiver
}

// createTraces and createLogs add a pipeline to the receiver of a configuration. The Collector creates all components
// before it starts any, so the receiver knows all its pipelines when it starts.
func (s *shared) createTraces(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Traces) (
	receiver.Traces, error) {
	r, err := s.of(set, cfg.(*Config))
	if err != nil {
		return nil, err
	}
	r.traces = next
	return r, nil
}

func (s *shared) createLogs(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
	r, err := s.of(set, cfg.(*Config))
	if err != nil {
		return nil, err
	}
	r.logs = next
	return r, nil
}

// of returns the receiver of a configuration, a new one if there is none.
func (s *shared) of(set receiver.Settings, cfg *Config) (*spangroveReceiver, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.byConfig[cfg]; ok {
		return r, nil
	}
	r, err := newReceiver(set, cfg)
	if err != nil {
		return nil, err
	}
	r.forget = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.byConfig, cfg)
	}
	s.byConfig[cfg] = r
	return r, nil
}
