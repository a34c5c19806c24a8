package embedprovider

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/confmap"
)

// The settings of an embedded configuration that its text cannot take from the environment: those that stand in several places, are in
// another unit there, come from a file, or are a whole section. Each is checked here, so that an error names the variable.

// maxSecretBytes bounds a file with a secret: a longer one is some other file.
const maxSecretBytes = 64 << 10

// secrets are the variables that hold a secret, with its place. The same name with _FILE behind it is the
// variable of a file that holds the secret instead, as container platforms mount them.
var secrets = map[string]string{
	"SPANGROVE_POSTGRES_DSN":        "extensions::spangrove_store::postgres::dsn",
	"SPANGROVE_POSTGRES_DIRECT_DSN": "extensions::spangrove_store::postgres::direct_dsn",
	"SPANGROVE_POSTGRES_READ_DSN":   "extensions::spangrove_store::postgres::read_dsn",
	"SPANGROVE_API_KEY":             "extensions::spangrove_auth::api_key",
	"SPANGROVE_SECRET":              "extensions::spangrove_evaluate::secret",
	"SPANGROVE_SMTP_PASSWORD":       "extensions::spangrove_evaluate::alerts::smtp::password",
	"OPENAI_API_KEY":                "extensions::spangrove_evaluate::llm::providers::openai::api_key",
	"ANTHROPIC_API_KEY":             "extensions::spangrove_evaluate::llm::providers::anthropic::api_key",
	"GEMINI_API_KEY":                "extensions::spangrove_evaluate::llm::providers::gemini::api_key",
}

// rules are the variables with the rules that make settings of their values.
var rules = map[string]func(value string) (map[string]any, error){
	maxBody: func(value string) (map[string]any, error) {
		n, err := number(value, 1, 1024)
		return map[string]any{
			"extensions::spangrove_api::max_request_body_size":             n << 20,
			"receivers::spangrove::protocols::http::max_request_body_size": n << 20,
			"receivers::spangrove::protocols::grpc::max_recv_msg_size_mib": n,
		}, err
	},
	maxInFlight: func(value string) (map[string]any, error) {
		n, err := number(value, 1, 1<<20)
		return map[string]any{"receivers::spangrove::max_in_flight_mib": n, "extensions::spangrove_api::max_in_flight_mib": n}, err
	},
	"SPANGROVE_QUEUE_MIB": func(value string) (map[string]any, error) {
		n, err := number(value, 1, 1<<20)
		return map[string]any{"extensions::spangrove_store::queue_bytes": n << 20}, err
	},
	MemoryLimit: func(value string) (map[string]any, error) {
		n, err := memoryLimit(value)
		return map[string]any{"processors::memory_limiter::limit_mib": n, "processors::memory_limiter::spike_limit_mib": n / 4}, err
	},
	"SPANGROVE_SHUTDOWN_DELAY": func(value string) (map[string]any, error) {
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 || d > 5*time.Minute {
			return nil, fmt.Errorf("must be a duration from 0s to 5m, such as 10s, not %q", value)
		}
		return map[string]any{"extensions::spangrove_api::shutdown_delay": value}, nil
	},
	"SPANGROVE_LOG_FORMAT": func(value string) (map[string]any, error) {
		if value != "console" && value != "json" {
			return nil, fmt.Errorf("must be console or json, not %q", value)
		}
		return map[string]any{"service::telemetry::logs::encoding": value}, nil
	},
	"SPANGROVE_METRICS_ADDR": metricsAt,
}

const (
	maxBody     = "SPANGROVE_MAX_BODY_MIB"
	maxInFlight = "SPANGROVE_MAX_IN_FLIGHT_MIB"
)

// MemoryLimit is the variable that says how much memory the server may have, in MiB.
const MemoryLimit = "SPANGROVE_MEMORY_LIMIT_MIB"

// minMemoryMiB is the least that a server works with: what it takes at rest, and one project's share of requests.
const minMemoryMiB = 256

// memoryLimit returns the value of MemoryLimit.
func memoryLimit(value string) (int64, error) { return number(value, minMemoryMiB, 1<<20) }

// SoftMemoryLimit returns from how many bytes on the garbage collector is to work harder, of a server that stays below normal while it can:
// three quarters of what MemoryLimit allows, if that is less.
func SoftMemoryLimit(normal int64) int64 {
	if n, err := memoryLimit(os.Getenv(MemoryLimit)); err == nil {
		return min(normal, n<<20/4*3)
	}
	return normal
}

func number(value string, low, high int64) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("must be a whole number from %d to %d, not %q", low, high, value)
	}
	return n, nil
}

// metricsAt has the Collector serve metrics for Prometheus at host:port, under the names that the documentation has.
func metricsAt(value string) (map[string]any, error) {
	host, text, err := net.SplitHostPort(value)
	port, portErr := number(text, 1, math.MaxUint16)
	if err != nil || portErr != nil || host == "" {
		return nil, fmt.Errorf("must be a host and a port, such as 0.0.0.0:8888, not %q", value)
	}
	return map[string]any{
		"service::telemetry::metrics::level": "normal",
		"service::telemetry::metrics::readers": []any{map[string]any{"pull": map[string]any{"exporter": map[string]any{"prometheus": map[string]any{
			"host": host, "port": port, "without_scope_info": true, "without_units": true, "without_type_suffix": true,
		}}}}},
	}, nil
}

// fromEnvironment puts the settings of variables that are set over a configuration.
func fromEnvironment(c *confmap.Conf) error {
	var errs []error
	set := func(name string, at map[string]any, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			return
		}
		for _, path := range slices.Sorted(maps.Keys(at)) {
			errs = append(errs, put(c, path, at[path]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		if value := os.Getenv(name); value != "" {
			at, err := rules[name](value)
			set(name, at, err)
		}
	}
	errs = append(errs, checkBodies())
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		if os.Getenv(name+"_FILE") == "" {
			continue
		}
		text, err := Secret(name)
		if err == nil {
			// A dollar sign of a secret is not the beginning of a variable.
			err = put(c, secrets[name], strings.ReplaceAll(text, "$", "$$"))
		}
		errs = append(errs, err)
	}
	cert, key := os.Getenv(certFile), os.Getenv(keyFile)
	switch {
	case (cert == "") != (key == ""):
		errs = append(errs, fmt.Errorf("%s and %s must be set together", certFile, keyFile))
	case cert != "":
		for _, listener := range listeners {
			errs = append(errs, put(c, listener+"::tls", map[string]any{"cert_file": cert, "key_file": key}))
		}
	}
	return errors.Join(errs...)
}

// defaultInFlightMiB is what bodies under way may take on the port of the API unless a variable says otherwise.
const defaultInFlightMiB = 64

// checkBodies reports whether the largest body fits into what bodies may take. Variables that are wrong by themselves have been reported.
func checkBodies() error {
	body, err := number(os.Getenv(maxBody), 1, math.MaxInt64)
	if err != nil {
		return nil
	}
	all := int64(defaultInFlightMiB)
	if n, err := number(os.Getenv(maxInFlight), 1, math.MaxInt64); err == nil {
		all = n
	}
	if body > all {
		return fmt.Errorf("%s: %d is more than %s, %d", maxBody, body, maxInFlight, all)
	}
	return nil
}

// Secret returns what a variable holds, or else the text of the file that the variable with _FILE behind its name names; empty if
// neither is set. An error names the variable.
func Secret(name string) (string, error) {
	value, file := os.Getenv(name), os.Getenv(name+"_FILE")
	if file == "" {
		return value, nil
	}
	if value != "" {
		return "", fmt.Errorf("%s and %s_FILE: only one of them may be set", name, name)
	}
	text, err := readSecret(file)
	if err != nil {
		return "", fmt.Errorf("%s_FILE: %w", name, err)
	}
	return text, nil
}

// readSecret returns the text of a file without the line break at its end. An error has the name of the file, and nothing of what is in it.
func readSecret(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecretBytes+1))
	if err != nil {
		return "", err
	}
	secret := strings.TrimRight(string(text), "\r\n")
	switch {
	case len(text) > maxSecretBytes:
		return "", fmt.Errorf("%s has more than %d bytes", file, maxSecretBytes)
	case strings.TrimSpace(secret) == "":
		return "", fmt.Errorf("%s is empty", file)
	}
	return secret, nil
}

// put sets the value at a path.
func put(c *confmap.Conf, path string, value any) error {
	for _, part := range slices.Backward(strings.Split(path, "::")) {
		value = map[string]any{part: value}
	}
	return c.Merge(confmap.NewFromStringMap(value.(map[string]any)))
}
