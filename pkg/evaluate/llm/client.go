package llm

import (
	"fmt"
	"net/http"

	"github.com/spangrove/spangrove/pkg/provider"
)

// newClient returns the client of a provider's type. All of them ask through c.
func newClient(cfg Provider, c *http.Client) (client, error) {
	switch cfg.Type {
	case provider.OpenAI:
		return newOpenAI(cfg, c), nil
	case provider.Anthropic:
		return newAnthropic(cfg, c), nil
	case provider.Gemini:
		return newGemini(cfg, c)
	}
	return nil, fmt.Errorf("type: no client speaks %q", cfg.Type)
}
