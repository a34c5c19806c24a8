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
func lists(components any, kind string) bool {
	list, _ := components.([]any)
	return slices.ContainsFunc(list, func(c any) bool {
		id, _ := c.(string)
		found, _, _ := strings.Cut(id, "/")
		return found == kind
	})
}
