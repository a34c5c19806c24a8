package llm

import (
	"fmt"
	"net/http"
)

// newClient makes the client of a provider's type. All of them ask through c.
func newClient(cfg Provider, c *http.Client) (client, error) {
	switch cfg.Type {
	case OpenAI:
		return newOpenAI(cfg, c), nil
	case Anthropic:
		return newAnthropic(cfg, c), nil
	case Gemini:
		return newGemini(cfg, c)
	}
	return nil, fmt.Errorf("type: no client speaks %q", cfg.Type)
}
