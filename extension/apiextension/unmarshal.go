package apiextension

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/confmap"
)

var _ confmap.Unmarshaler = (*Config)(nil)

// Unmarshal reads the configuration and refuses unknown keys. Without it they would pass in
// silence: the server's own Unmarshal has to ignore keys it does not know, because those of
// this Config are next to its own.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	known := keysOf(reflect.TypeFor[Config]())
	for _, key := range slices.Sorted(maps.Keys(conf.ToStringMap())) {
		if !slices.Contains(known, key) {
			return fmt.Errorf("%s: no such setting", key)
		}
	}
	return conf.Unmarshal(c)
}

// keysOf lists the keys of a configuration struct, those of squashed fields among them.
func keysOf(t reflect.Type) (keys []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("mapstructure"), ",")
		switch {
		case !f.IsExported() || name == "-":
		case strings.Contains(options, "squash"):
			keys = append(keys, keysOf(f.Type)...)
		default:
			keys = append(keys, name)
		}
	}
	return keys
}
