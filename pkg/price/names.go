package price

import (
	"regexp"
	"strings"
)

// maxName bounds the names that are looked up, in bytes; no model's is nearly as long.
const maxName = 256

// prefixes are what the table writes before the models of a provider, for the names that
// instrumentations give it. Any other provider's prefix is its own name.
var prefixes = map[string][]string{
	"amazon-bedrock":          {"bedrock/"},
	"amazon_bedrock":          {"bedrock/"},
	"aws":                     {"bedrock/"},
	"aws.bedrock":             {"bedrock/"},
	"azure":                   {"azure/", "azure_ai/"},
	"az.ai.inference":         {"azure_ai/", "azure/"},
	"az.ai.openai":            {"azure/", "azure_ai/"},
	"azure-openai":            {"azure/", "azure_ai/"},
	"azure.ai.inference":      {"azure_ai/", "azure/"},
	"azure.ai.openai":         {"azure/", "azure_ai/"},
	"azure_openai":            {"azure/", "azure_ai/"},
	"fireworks":               {"fireworks_ai/", "fireworks_ai/accounts/fireworks/models/"},
	"fireworks_ai":            {"fireworks_ai/", "fireworks_ai/accounts/fireworks/models/"},
	"gcp.gemini":              {"gemini/", "vertex_ai/"},
	"gcp.gen_ai":              {"gemini/", "vertex_ai/"},
	"gcp.vertex_ai":           {"vertex_ai/", "gemini/"},
	"gcp.vertex.agent":        {"gemini/", "vertex_ai/"},
	"google":                  {"gemini/", "vertex_ai/"},
	"google-gla":              {"gemini/", "vertex_ai/"},
	"google-vertex":           {"vertex_ai/", "gemini/"},
	"google.generative-ai":    {"gemini/", "vertex_ai/"},
	"google.vertex":           {"vertex_ai/", "gemini/"},
	"google_genai":            {"gemini/", "vertex_ai/"},
	"google_vertexai":         {"vertex_ai/", "gemini/"},
	"ibm.watsonx.ai":          {"watsonx/"},
	"mistral_ai":              {"mistral/"},
	"mistralai":               {"mistral/"},
	"moonshot_ai":             {"moonshot/"},
	"moonshotai":              {"moonshot/"},
	"together":                {"together_ai/"},
	"togetherai":              {"together_ai/"},
	"vercel":                  {"vercel_ai_gateway/"},
	"gateway":                 {"vercel_ai_gateway/"},
	"vertexai":                {"vertex_ai/", "gemini/"},
	"x_ai":                    {"xai/"},
	"alibaba":                 {"dashscope/"},
	"workers-ai":              {"cloudflare/"},
	"ollama_chat":             {"ollama/"},
	"nvidia":                  {"nvidia_nim/"},
	"google.vertex.anthropic": {"vertex_ai/"},
	"meta":                    {"meta_llama/", "meta/"},
}

// prefixesOf lists what may stand before a model of the provider.
func prefixesOf(provider string) []string {
	for p := provider; p != ""; {
		if list, ok := prefixes[p]; ok {
			return list
		}
		i := strings.LastIndexByte(p, '.') // an API of it: "groq.chat"
		if i < 0 {
			return []string{p + "/"}
		}
		p = p[:i]
	}
	return nil
}

var (
	region = regexp.MustCompile(`^(us|eu|apac|ap|jp|au|ca|sa|me|af|il|mx|cn|global|us-gov|us-gov-east-1|us-gov-west-1)\.`)
	maker  = regexp.MustCompile(
		`^(ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen|stability|twelvelabs|writer|zai)\.`,
	)
	revision = regexp.MustCompile(`-v[0-9]{1,2}:[0-9]{1,2}(:[a-z0-9]+)?$`)
	dated    = regexp.MustCompile(`-(20[0-9]{2}-[01][0-9]-[0-3][0-9]|20[0-9]{2}[01][0-9][0-3][0-9]|latest)$`)
)

// shorten are the ways to a shorter name of the same model, applied one after the other, each
// to what the one before it left. Each returns the name unchanged if it does not apply.
var shorten = []func(string) string{
	// models/gemini-2.0-flash, publishers/google/models/…, projects/…/models/…
	func(s string) string {
		if i := strings.LastIndex(s, "models/"); i == 0 || i > 0 && s[i-1] == '/' {
			return s[i+len("models/"):]
		}
		return s
	},
	// arn:aws:bedrock:us-east-1::foundation-model/…
	func(s string) string {
		if strings.HasPrefix(s, "arn:") {
			return s[strings.LastIndexByte(s, '/')+1:]
		}
		return s
	},
	// ft:gpt-4o-mini-2024-07-18:org::id: the price of a fine-tuned model is that of its base,
	// under a name of its own.
	func(s string) string {
		if rest, ok := strings.CutPrefix(s, "ft:"); ok {
			base, _, _ := strings.Cut(rest, ":")
			return "ft:" + base
		}
		return s
	},
	func(s string) string { return region.ReplaceAllString(s, "") },   // us.anthropic.…
	func(s string) string { return maker.ReplaceAllString(s, "") },    // anthropic.claude-…
	func(s string) string { return revision.ReplaceAllString(s, "") }, // …-v1:0
	func(s string) string { // claude-sonnet-4@20250514
		if i := strings.LastIndexByte(s, '@'); i > 0 {
			return s[:i]
		}
		return s
	},
	func(s string) string { return dated.ReplaceAllString(s, "") }, // gpt-4o-2024-08-06
}

// names lists what a model is looked up as, most exact first: its name, its name below each of
// the provider's prefixes, then the same for ever shorter names.
func names(model, provider string) []string {
	model = strings.ToLower(strings.TrimSpace(model))
	provider = strings.ToLower(strings.TrimSpace(provider))
	if model == "" || len(model) > maxName || len(provider) > maxName {
		return nil
	}
	before := prefixesOf(provider)
	list := appendNames(nil, model, before)
	for _, f := range shorten {
		if short := f(model); short != model && short != "" {
			model = short
			list = appendNames(list, model, before)
		}
	}
	return list
}

func appendNames(list []string, model string, before []string) []string {
	list = append(list, model)
	for _, p := range before {
		if !strings.HasPrefix(model, p) {
			list = append(list, p+model)
		}
	}
	return list
}

// inner takes a model's provider out of its name: openai/gpt-4o, openai:gpt-4o.
func inner(model string) (provider, rest string, ok bool) {
	model = strings.ToLower(strings.TrimSpace(model))
	i := strings.IndexAny(model, "/:")
	if i <= 0 || i+1 == len(model) || len(model) > maxName {
		return "", "", false
	}
	return model[:i], model[i+1:], true
}

// owns reports whether a provider's prefix is that of the table's word for a provider, which may
// name one of its services: vertex_ai-language-models, bedrock_converse.
func owns(provider, inTable string) bool {
	for _, p := range prefixesOf(provider) {
		if strings.HasPrefix(inTable, strings.TrimSuffix(p, "/")) {
			return true
		}
	}
	return false
}
