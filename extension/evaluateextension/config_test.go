package evaluateextension

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/spangrove/spangrove/pkg/evaluate/expression"
	"github.com/spangrove/spangrove/pkg/evaluate/llm"
	"github.com/spangrove/spangrove/pkg/evaluate/python"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	file, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		id      string
		want    *Config
		wantErr string
	}{
		{id: "spangrove_evaluate", want: createDefaultConfig().(*Config)},
		{id: "spangrove_evaluate/all", want: &Config{
			Store:   component.MustNewIDWithName("spangrove_store", "other"),
			Workers: 16, MaxWait: 2 * time.Second,
			Online: OnlineConfig{BatchEvents: 10, Timeout: 3 * time.Second, Attempts: 2, Backoff: time.Second, QueueEvaluations: 20,
				SessionIdle: 4 * time.Second, UnfinishedAfter: 5 * time.Second, PollInterval: time.Second},
			Alerts: AlertsConfig{PollInterval: 3 * time.Second, AllowAddresses: []string{"127.0.0.1"}, PublicURL: "https://spangrove.example.com",
				SMTP: SMTPConfig{Address: "mail.example.com:587", From: "alerts@example.com", Username: "alerts", Password: "secret", TLS: "tls", Recipients: []string{"example.com"}}},
			Expression: expression.Config{Work: 1000},
			Secret:     "0123456789abcdef0123456789abcdef", SecretFile: "/somewhere/secret",
			LLM: llm.Config{DefaultProvider: "local", AllowAddresses: []string{"127.0.0.1", "10.0.0.0/8"}, MaxPromptBytes: 1000, Providers: map[string]llm.Provider{"local": {
				Type: "anthropic", BaseURL: "http://127.0.0.1:1/v1", APIKey: "secret", Model: "m", Concurrency: 2, Timeout: 3 * time.Second, Deadline: 4 * time.Second,
				Retries: 5, DailyBudgetUSD: 0.5, DailyCalls: 6, MaxOutputTokens: 7,
				Headers: map[string]configopaque.String{"X-Title": "judges"}, Query: map[string]string{"api-version": "2024-10-21"}, ProxyURL: "http://127.0.0.1:3128"}}},
			Python: python.Config{Directory: "/somewhere", Deadline: 2 * time.Second, MemoryMiB: 256, OutputKiB: 64, Parallel: 3},
		}},
		{id: "spangrove_evaluate/idle", wantErr: "workers: must be between 1 and 256, not 0"},
		{id: "spangrove_evaluate/hasty", wantErr: "online: poll_interval: must be between 10ms and 24h0m0s, not 1ms"},
		{id: "spangrove_evaluate/stubborn", wantErr: "online: attempts: must be between 1 and 100, not 0"},
		{id: "spangrove_evaluate/nameless", wantErr: `llm: providers::local::type: must be openai, anthropic or gemini, not "other"`},
		{id: "spangrove_evaluate/forged", wantErr: `llm: providers::local::headers: "X-Title" is not a header with a valid value`},
		{id: "spangrove_evaluate/detoured", wantErr: `llm: providers::local::proxy_url: must be a URL such as http://proxy.example.com:3128`},
		{id: "spangrove_evaluate/unpriced", wantErr: `llm: price_file: open /nowhere/prices.json: no such file or directory`},
		{id: "spangrove_evaluate/lazy", wantErr: "expression: work: must not be less than 0, which is the default, but is -1"},
		{id: "spangrove_evaluate/impatient", wantErr: "python: deadline: must be between 0, which is the default, and 10m, not -1s"},
		{id: "spangrove_evaluate/forgetful", wantErr: "python: memory_mib: must be between 32 and 4095, or 0, which is the default, not 16"},
		{id: "spangrove_evaluate/talkative", wantErr: "python: output_kib: must be between 0, which is the default, and 65536, not 100000"},
		{id: "spangrove_evaluate/broad", wantErr: "python: parallel: must be between 0, which is the default, and 256, not 1000"},
		{id: "spangrove_evaluate/drowsy", wantErr: "alerts: poll_interval: must be between 10ms and 1m, not 2m0s"},
		{id: "spangrove_evaluate/inward", wantErr: `alerts: allow_addresses: "localhost" is neither a network such as 10.0.0.0/8 nor an address such as 127.0.0.1`},
		{id: "spangrove_evaluate/lost", wantErr: `alerts: public_url: must be a URL such as https://spangrove.example.com, not "spangrove"`},
		{id: "spangrove_evaluate/picky", wantErr: `alerts: smtp: recipients: "Ann <ann@example.com>" is neither an address such as ann@example.com nor a domain such as example.com`},
		{id: "spangrove_evaluate/mute", wantErr: `alerts: smtp: address: must be host:port, not "mail.example.com"`},
		{id: "spangrove_evaluate/anonymous", wantErr: `alerts: smtp: from: must be an address such as alerts@example.com, not ""`},
		{id: "spangrove_evaluate/rushed", wantErr: "max_wait: must be between 1ms and 10m, not 0s"},
		{id: "spangrove_evaluate/crowded", wantErr: "workers: must be between 1 and 256, not 257"},
	} {
		t.Run(tt.id, func(t *testing.T) {
			t.Parallel()
			sub, err := file.Sub(tt.id)
			if err != nil {
				t.Fatal(err)
			}
			cfg := createDefaultConfig()
			if err := sub.Unmarshal(cfg); err != nil {
				t.Fatal(err)
			}
			err = confmap.Validate(cfg)
			if tt.wantErr != "" {
				if err == nil || err.Error() != tt.wantErr {
					t.Fatalf("error = %v, want %q", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, cfg, cmp.AllowUnexported(component.ID{}, component.Type{})); diff != "" {
				t.Errorf("config (-want +got):\n%s", diff)
			}
		})
	}
}
