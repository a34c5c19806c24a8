package spangrovereceiver

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver"

	"github.com/spangrove/spangrove/pkg/mount"
)

func create(t *testing.T, cfg *Config) receiver.Traces {
	t.Helper()
	c, err := NewFactory().CreateTraces(t.Context(), settings(), cfg, consumertest.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestShutdownBeforeStartAndTwice(t *testing.T) {
	c := create(t, createDefaultConfig().(*Config))
	for range 2 {
		if err := c.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOnePipelineEachAndStartedTwice(t *testing.T) {
	r := start(t, options{})
	if err := r.receiver.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Errorf("the second pipeline: %v", err)
	}
}

// Whoever asks the API is told where the receiver really listens, as long as it does.
func TestListenersAreTold(t *testing.T) {
	r := start(t, options{config: func(c *Config) { c.MaxItems = 7 }})
	want := []mount.Listener{
		{Topic: mount.TopicOTLPGRPC, URL: "http://" + r.grpcTarget, MaxBytes: defaultMaxBody, MaxItems: 7},
		{Topic: mount.TopicOTLPHTTP, URL: r.httpURL, MaxBytes: defaultMaxBody, MaxItems: 7},
		{Topic: mount.TopicOTLPHTTP, MaxItems: 7},
	}
	if diff := cmp.Diff(want, r.api.ports); diff != "" {
		t.Error(diff)
	}
	if err := r.receiver.Shutdown(t.Context()); err != nil || len(r.api.ports) > 0 {
		t.Errorf("after the end: %+v, %v", r.api.ports, err)
	}
	r = start(t, options{noAPI: true, config: func(c *Config) { c.Protocols.GRPC.GetOrInsertDefault().NetAddr.Endpoint = "" }})
	if len(r.api.ports) != 1 || r.api.ports[0].URL != r.httpURL {
		t.Errorf("HTTP alone: %+v", r.api.ports)
	}
}

func TestTheAPIExtensionIsMissing(t *testing.T) {
	c := create(t, createDefaultConfig().(*Config))
	err := c.Start(t.Context(), componenttest.NewNopHost())
	if err == nil || !strings.Contains(err.Error(), "receivers::spangrove::api::extension") || !strings.Contains(err.Error(), "api::enabled") {
		t.Errorf("error %v", err)
	}
}

func TestAPortThatIsTaken(t *testing.T) {
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	cfg := createDefaultConfig().(*Config)
	cfg.API.Enabled = false
	cfg.Protocols.GRPC.GetOrInsertDefault().NetAddr.Endpoint = "127.0.0.1:0"
	cfg.Protocols.HTTP.GetOrInsertDefault().NetAddr.Endpoint = ln.Addr().String()
	cfg.Protocols.GRPC.Get().Auth = configoptional.None[configauth.Config]()
	cfg.Protocols.HTTP.Get().Auth = configoptional.None[confighttp.AuthConfig]()
	err = create(t, cfg).Start(t.Context(), componenttest.NewNopHost())
	if err == nil || !strings.Contains(err.Error(), "receivers::spangrove::protocols::http") {
		t.Errorf("error %v", err)
	}
}

func TestShutdownWaitsForWhatIsUnderWay(t *testing.T) {
	r := start(t, options{})
	r.entered, r.wait = make(chan struct{}), make(chan struct{})
	answered := make(chan reply)
	go func() { answered <- post(t, r.apiURL+"/events", text(`{"event_type":"tool","inputs":{}}`)) }()
	<-r.entered
	short, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.receiver.Shutdown(short); err == nil {
		t.Error("shutdown did not say that a request was still under way")
	}
	if got := post(t, r.apiURL+"/events", text(`{}`)); got.status != http.StatusNotFound { // unmounted
		t.Errorf("after shutdown: %+v", got)
	}
	close(r.wait)
	if got := <-answered; got.status != 200 {
		t.Errorf("the request under way: %+v", got)
	}
	if err := r.receiver.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestFindPrefersTheNamedExtension(t *testing.T) {
	t.Parallel()
	first, named := &fakeAPI{}, &fakeAPI{}
	h := host{map[component.ID]component.Component{
		component.MustNewID("a"): first, component.MustNewID("z"): named,
	}}
	if got := find[*fakeAPI](h, component.MustNewID("z")); got != named {
		t.Error("not the named one")
	}
	if got := find[*fakeAPI](h, component.MustNewID("none")); got != first {
		t.Error("not the first")
	}
}
