package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/confmap"
)

// scrubVariable asks for secrets to be replaced.
const scrubVariable = "SPANGROVE_SCRUB"

// scrubbed refuses a configuration in which SPANGROVE_SCRUB asks for what a pipeline does not do: a file that is layered over the
// embedded configuration may list processors of its own, and these would silently go without it.
type scrubbed struct{}

// newScrubbed returns the check, which runs on the configuration as it is when all is put together.
func newScrubbed(confmap.ConverterSettings) confmap.Converter { return scrubbed{} }

// Convert implements confmap.Converter. It changes nothing.
func (scrubbed) Convert(_ context.Context, conf *confmap.Conf) error {
	if asked := os.Getenv(scrubVariable); asked == "" || asked == "off" {
		return nil
	}
	pipelines := section(conf.ToStringMap(), "service", "pipelines")
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(pipelines)) {
		pipeline, _ := pipelines[id].(map[string]any)
		if lists(pipeline["receivers"], "spangrove") && !lists(pipeline["processors"], "spangrove_scrub") {
			errs = append(errs, fmt.Errorf("service::pipelines::%s::processors: has no spangrove_scrub, which %s asks for; add it to the list", id, scrubVariable))
		}
	}
	return errors.Join(errs...)
}

// lists reports whether a list of components has one of the type.
func lists(components any, kind string) bool { return len(listed(components, kind)) > 0 }

// listed returns those of a list of components that are of one of the types, and unlisted those that are of none.
func listed(components any, kinds ...string) []string {
	return componentsIn(components, func(kind string) bool { return slices.Contains(kinds, kind) })
}

func unlisted(components any, kinds ...string) []string {
	return componentsIn(components, func(kind string) bool { return !slices.Contains(kinds, kind) })
}

// componentsIn returns those of a list of components, such as "otlp/second", whose type is wanted.
func componentsIn(components any, wanted func(kind string) bool) (ids []string) {
	list, _ := components.([]any)
	for _, c := range list {
		id, _ := c.(string)
		if kind, _, _ := strings.Cut(id, "/"); wanted(kind) {
			ids = append(ids, id)
		}
	}
	return ids
}
