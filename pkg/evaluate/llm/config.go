package llm

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/config/configopaque"
	"golang.org/x/net/http/httpguts"

	"github.com/spangrove/spangrove/pkg/egress"
	"github.com/spangrove/spangrove/pkg/price"
	"github.com/spangrove/spangrove/pkg/provider"
)

// Config is the configuration of the engine.
type Config struct {
	// Providers are the endpoints that can be asked, by the name that a metric's model_provider
	// is. Those of the default configuration take their keys from the environment.
	Providers map[string]Provider `mapstructure:"providers"`

	// DefaultProvider is asked where a metric names none. Default empty: the only one that is
	// set up, if there is only one.
	DefaultProvider string `mapstructure:"default_provider"`

	// Projects are the names or ids of the projects that Providers serve, in addition to the first one of the
	// store; "all" is every project. One element may name several with commas between them, or
	// none. Other projects set up providers of their own. Default none.
	Projects []string `mapstructure:"projects"`

	// AllowAddresses are the networks (10.0.0.0/8) and addresses (127.0.0.1) in which providers
	// may be, in addition to public ones: those of models on this machine or in this network. Names are
	// resolved first, so they cannot get around it. One element may name several with commas
	// between them, or none. Default none.
	AllowAddresses []string `mapstructure:"allow_addresses"`

	// PriceFile has prices of models that go before the built-in ones, as the exporter's does
	// (docs/prices.md). Default none.
	PriceFile string `mapstructure:"price_file"`

	// MaxPromptBytes bounds a prompt with the event's fields in it; a longer one is not sent.
	// Default 262144 (256 KiB).
	MaxPromptBytes int `mapstructure:"max_prompt_bytes"`
}

// Provider is one endpoint. What is zero or empty has its default.
type Provider struct {
	// Type is the API that the endpoint speaks: openai, anthropic or gemini. Default the
	// provider's name if it is one of them, else openai, which most others speak as well.
	Type string `mapstructure:"type"`

	// BaseURL is where the API is, with its version ("http://127.0.0.1:11434/v1"). Default that of
	// the type's own service, which cannot be used without a key.
	BaseURL string `mapstructure:"base_url"`

	// APIKey is the key of the endpoint. Default empty: none is sent, and the provider is only
	// there if it has a BaseURL.
	APIKey configopaque.String `mapstructure:"api_key"`

	// Headers are sent with every call in addition to the client's own, and in place of those of the same
	// name: what a gateway wants to know. At most 32. They are not shown, as the key is not.
	Headers map[string]configopaque.String `mapstructure:"headers"`

	// Query is added to the address of every call: {api-version: "2024-10-21"}. At most 32.
	Query map[string]string `mapstructure:"query"`

	// ProxyURL is the HTTP proxy through which calls go ("http://proxy:3128"), which finds the
	// endpoint in this server's stead: the proxy's address is the one that must be public or in
	// AllowAddresses. Default none, also where the environment names one.
	ProxyURL string `mapstructure:"proxy_url"`

	// Model is asked where a metric names none. Default none: the metric must.
	Model string `mapstructure:"model"`

	// Concurrency is how many calls are under way at a time. Default 8, at most 256.
	Concurrency int `mapstructure:"concurrency"`

	// Timeout is how long one call may take. Default 60s.
	Timeout time.Duration `mapstructure:"timeout"`

	// Deadline is how long an answer may take with all waiting and retries. Default 2m.
	Deadline time.Duration `mapstructure:"deadline"`

	// Retries is how often a call is made again that was refused for now (429), failed at the
	// provider (5xx), got no answer or none that could be read. Default 4; -1 is no retry.
	Retries int `mapstructure:"retries"`

	// DailyBudgetUSD bounds what a UTC day's calls cost, by the prices of PriceFile and the built-in ones. A call that could
	// cost more than is left is not made, nor one whose price is not known. Default 0: no bound.
	DailyBudgetUSD float64 `mapstructure:"daily_budget_usd"`

	// DailyCalls bounds the answers of a UTC day. Default 0: no bound.
	DailyCalls int64 `mapstructure:"daily_calls"`

	// MaxOutputTokens bounds an answer, a model's thoughts included. Default 4096.
	MaxOutputTokens int `mapstructure:"max_output_tokens"`
}

// services are where the types' own services are.
var services = map[string]string{
	provider.OpenAI:    "https://api.openai.com/v1",
	provider.Anthropic: "https://api.anthropic.com",
	provider.Gemini:    "https://generativelanguage.googleapis.com",
}

// names are other names of providers that metrics may have.
var names = map[string]string{
	"open_ai":      provider.OpenAI,
	"google":       provider.Gemini,
	"google_genai": provider.Gemini,
	"google-genai": provider.Gemini,
	"googleai":     provider.Gemini,
	"gcp.gemini":   provider.Gemini,
	"claude":       provider.Anthropic,
}

// Bounds of the configuration.
const (
	maxProviders   = 100
	maxConcurrency = 256
	maxRetries     = 20
	maxPrompt      = 16 << 20
	maxTimeout     = time.Hour
	maxExtras      = 32 // headers, and parameters of a query
)

// NewConfig returns the default configuration: no provider.
func NewConfig() Config { return Config{MaxPromptBytes: 256 << 10} }

var providerName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Validate reports the first setting that cannot work, by its path.
func (c *Config) Validate() error {
	if len(c.Providers) > maxProviders {
		return fmt.Errorf("providers: more than %d", maxProviders)
	}
	for _, name := range sortedNames(c.Providers) {
		p := c.Providers[name]
		if err := p.check(name); err != nil {
			return fmt.Errorf("providers::%s::%w", name, err)
		}
	}
	if _, ok := c.Providers[c.DefaultProvider]; c.DefaultProvider != "" && !ok {
		return fmt.Errorf("default_provider: no provider %q", c.DefaultProvider)
	}
	if _, err := egress.Networks(c.AllowAddresses); err != nil {
		return fmt.Errorf("allow_addresses: %w", err)
	}
	if _, err := price.ReadFile(c.PriceFile); err != nil {
		return fmt.Errorf("price_file: %w", err)
	}
	if c.MaxPromptBytes < 1 || c.MaxPromptBytes > maxPrompt {
		return fmt.Errorf("max_prompt_bytes: must be between 1 and %d, not %d", maxPrompt, c.MaxPromptBytes)
	}
	return nil
}

// sortedNames returns the names in order, so that the first error is always the same.
func sortedNames(providers map[string]Provider) (list []string) {
	for name := range providers {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// check reports the first setting of a provider that cannot work. Zero is allowed where it means the default.
func (p *Provider) check(name string) error {
	switch {
	case !providerName.MatchString(name):
		return errors.New("a name has 1 to 64 of a-z, 0-9, dot, dash and underscore")
	case p.Type != "" && services[p.Type] == "":
		return fmt.Errorf("type: must be openai, anthropic or gemini, not %q", p.Type)
	case p.Concurrency < 0 || p.Concurrency > maxConcurrency:
		return fmt.Errorf("concurrency: must be between 1 and %d, not %d", maxConcurrency, p.Concurrency)
	case p.Timeout < 0 || p.Timeout > maxTimeout:
		return fmt.Errorf("timeout: must be at most %s, not %s", maxTimeout, p.Timeout)
	case p.Deadline < 0 || p.Deadline > maxTimeout:
		return fmt.Errorf("deadline: must be at most %s, not %s", maxTimeout, p.Deadline)
	case p.Retries < -1 || p.Retries > maxRetries:
		return fmt.Errorf("retries: must be between -1 and %d, not %d", maxRetries, p.Retries)
	case !(p.DailyBudgetUSD >= 0):
		return fmt.Errorf("daily_budget_usd: must be 0 or more, not %g", p.DailyBudgetUSD)
	case p.DailyCalls < 0:
		return fmt.Errorf("daily_calls: must be 0 or more, not %d", p.DailyCalls)
	case p.MaxOutputTokens < 0:
		return fmt.Errorf("max_output_tokens: must be 1 or more, not %d", p.MaxOutputTokens)
	}
	if err := provider.CheckURL(p.BaseURL); err != nil {
		return fmt.Errorf("base_url: %w", err)
	}
	if u, err := url.Parse(p.ProxyURL); p.ProxyURL != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return errors.New("proxy_url: must be a URL such as http://proxy.example.com:3128")
	}
	if len(p.Headers) > maxExtras || len(p.Query) > maxExtras {
		return fmt.Errorf("headers, query: more than %d", maxExtras)
	}
	for name, value := range p.Headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(string(value)) {
			return fmt.Errorf("headers: %.40q is not a header with a valid value", name)
		}
	}
	return nil
}

// complete fills in the defaults.
func (p *Provider) complete(name string) {
	if p.Type == "" {
		p.Type = provider.OpenAI
		if services[name] != "" {
			p.Type = name
		}
	}
	if p.BaseURL == "" {
		p.BaseURL = services[p.Type]
	}
	if p.Concurrency == 0 {
		p.Concurrency = 8
	}
	if p.Timeout == 0 {
		p.Timeout = time.Minute
	}
	if p.Deadline == 0 {
		p.Deadline = 2 * time.Minute
	}
	switch p.Retries {
	case 0:
		p.Retries = 4
	case -1:
		p.Retries = 0
	}
	if p.MaxOutputTokens == 0 {
		p.MaxOutputTokens = 4096
	}
}

// fold returns the form in which names of providers are compared.
func fold(name string) string { return strings.ToLower(strings.TrimSpace(name)) }
