package spangroveexporter

import (
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
)

// Config is the configuration of the exporter.
type Config struct {
	// Store is the store extension to write to. Default spangrove_store.
	Store component.ID `mapstructure:"store"`

	// Timeout (timeout) bounds one write. Default 0: the request's own deadline rules.
	Timeout exporterhelper.TimeoutConfig `mapstructure:",squash"`

	// Queue puts a queue before the store. Default off: with it, an accepted request is
	// queued, not stored, unless wait_for_result is set or its storage is persistent.
	Queue configoptional.Optional[exporterhelper.QueueBatchConfig] `mapstructure:"sending_queue"`

	// Retry tries again what the store could not take. Default off, where the sender is told and tries again; behind a queue
	// that has answered already it is on, for any time (max_elapsed_time 0). Only a store that is busy or down is waited for (deliver).
	Retry configretry.BackOffConfig `mapstructure:"retry_on_failure"`

	// PriceFile (price_file) is a JSON file of model prices that go before the built-in ones.
	// Default none. See docs/prices.md.
	PriceFile string `mapstructure:"price_file"`

	// Mapping bounds what is kept of foreign spans; native events are kept as they are.
	Mapping MappingConfig `mapstructure:"mapping"`
}

// MappingConfig bounds what is kept of foreign spans. A negative number means no bound.
type MappingConfig struct {
	// MaxFieldBytes cuts longer string attributes to their head; metadata.truncated then
	// tells their length. Default 1048576 (1 MiB).
	MaxFieldBytes int `mapstructure:"max_field_bytes"`

	// MaxMediaBytes is up to where images and other media stay inside a message; longer ones
	// are replaced by their type, length and SHA-256. Default 65536 (64 KiB).
	MaxMediaBytes int `mapstructure:"max_media_bytes"`

	// MaxVector is how many numbers an embedding vector may have to be kept; of longer ones
	// only count and dimension are. Default 64.
	MaxVector int `mapstructure:"max_vector"`

	// KeepPlainLogs keeps log records that are no GenAI events, in metadata.logs of the event
	// of their span. Default false: they are dropped.
	KeepPlainLogs bool `mapstructure:"keep_plain_logs"`
}

// Unmarshal implements confmap.Unmarshaler. It switches retries on for a queue whose sender is not told what becomes of its data, unless
// the configuration says otherwise: such a queue drops what the store could not take at the first attempt.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	if err := conf.Unmarshal(c); err != nil {
		return err
	}
	if !c.answersEarly() {
		return nil
	}
	if !conf.IsSet("retry_on_failure::enabled") {
		c.Retry.Enabled = true
	}
	if !conf.IsSet("retry_on_failure::max_elapsed_time") {
		c.Retry.MaxElapsedTime = 0
	}
	return nil
}

// answersEarly reports whether there is a queue that answers before the store does.
func (c *Config) answersEarly() bool { return c.Queue.HasValue() && !c.Queue.Get().WaitForResult }

// Validate checks whether the file of prices can be used, so that a mistake in it is found before
// anything starts.
func (c *Config) Validate() error {
	_, err := readPrices(c.PriceFile)
	return err
}

// Validate reports the first setting that cannot work.
func (c *MappingConfig) Validate() error {
	for _, s := range []struct {
		key   string
		value int
	}{{"max_field_bytes", c.MaxFieldBytes}, {"max_media_bytes", c.MaxMediaBytes}, {"max_vector", c.MaxVector}} {
		if s.value == 0 {
			return fmt.Errorf("%s: must not be 0; a negative number is no bound", s.key)
		}
	}
	return nil
}
