package scrubprocessor

import (
	"fmt"

	"github.com/spangrove/spangrove/pkg/scrub"
)

// maxKeep bounds Keep.
const maxKeep = 1000

// Config is the configuration of the processor.
type Config struct {
	// Rules are the rules that are on: their names, secrets (all but email), names with a minus before them, which are left
	// out again, or off. An entry may hold several, separated by commas. Default secrets.
	Rules []string `mapstructure:"rules"`

	// Patterns are rules of your own. Default none.
	Patterns []PatternConfig `mapstructure:"patterns"`

	// Keep are attributes whose values are left as they are, such as ids of your own that spans are joined by. Default none.
	Keep []string `mapstructure:"keep"`
}

// PatternConfig is a rule of the user's own.
type PatternConfig struct {
	// Name stands in what replaces a match: 1 to 50 lower-case letters, digits and _.
	Name string `mapstructure:"name"`
	// Pattern is a regular expression of Go. If it has a group, only what the first group matches is replaced.
	Pattern string `mapstructure:"pattern"`
}

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	if len(c.Keep) > maxKeep {
		return fmt.Errorf("keep: at most %d, not %d", maxKeep, len(c.Keep))
	}
	_, err := c.scrubber()
	return err
}

func (c *Config) scrubber() (*scrub.Scrubber, error) {
	var own []scrub.Pattern
	for _, p := range c.Patterns {
		own = append(own, scrub.Pattern{Name: p.Name, Pattern: p.Pattern})
	}
	return scrub.New(c.Rules, own)
}
