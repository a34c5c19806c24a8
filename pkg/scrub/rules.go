package scrub

import (
	"fmt"
	"slices"
	"strings"
)

// The rules that are not in the table of tokens.
const (
	ruleAWSSecret   = "aws_secret_key"
	ruleAzure       = "azure"
	ruleMistral     = "mistral"
	ruleCohere      = "cohere"
	ruleTwilio      = "twilio"
	ruleJWT         = "jwt"
	ruleBearer      = "bearer_token"
	ruleCredentials = "url_credentials"
	rulePrivateKey  = "private_key"
	ruleCard        = "payment_card"
	ruleEmail       = "email"
)

// token is a secret that is recognised by how it begins: a prefix, then between min and max bytes of a class. The byte that
// follows must not be of the class, nor a letter or digit.
type token struct {
	rule, prefix string
	class        class
	min, max     int
	check        func(body string) bool // nil: every body will do
}

// unbounded is max of tokens whose length their issuers do not promise.
const unbounded = 512

// tokens, by rule. The longer of two prefixes that begin alike comes first.
var tokens = []token{
	{"anthropic", "sk-ant-", isURL, 20, unbounded, nil},
	{"openrouter", "sk-or-v1-", isHex, 32, 128, nil},
	{"langfuse", "sk-lf-", isURL, 32, 40, nil},
	{"openai", "sk-proj-", isURL, 20, unbounded, nil},
	{"openai", "sk-svcacct-", isURL, 20, unbounded, nil},
	{"openai", "sk-admin-", isURL, 20, unbounded, nil},
	{"openai", "sk-None-", isURL, 20, unbounded, nil},
	{"openai", "sk-", isAlnum, 20, unbounded, hasDigit}, // the older form, and that of providers with a like API
	{"google", "AIza", isURL, 35, 35, nil},
	{"google", "ya29.", isURL, 30, unbounded, nil},
	{"google", "GOCSPX-", isURL, 28, 28, nil},
	{"google", "AQ.Ab", isURL, 40, 80, hasDigit},
	{"aws_access_key", "AKIA", isAlnum, 16, 16, isUpperOrDigit},
	{"aws_access_key", "ASIA", isAlnum, 16, 16, isUpperOrDigit},
	{"aws_access_key", "ABIA", isAlnum, 16, 16, isUpperOrDigit},
	{"aws_access_key", "ACCA", isAlnum, 16, 16, isUpperOrDigit},
	{"aws_bedrock_key", "ABSK", isBase64, 100, 300, hasDigit},
	{"github", "ghp_", isAlnum, 30, unbounded, nil},
	{"github", "gho_", isAlnum, 30, unbounded, nil},
	{"github", "ghu_", isAlnum, 30, unbounded, nil},
	{"github", "ghs_", isURL, 30, unbounded, nil},
	{"github", "ghr_", isAlnum, 30, unbounded, nil},
	{"github", "github_pat_", isURL, 22, unbounded, nil},
	{"gitlab", "glpat-", isURL, 20, unbounded, nil},
	{"gitlab", "gldt-", isURL, 20, unbounded, nil},
	{"gitlab", "glrt-", isURL, 20, unbounded, nil},
	{"gitlab", "glptt-", isURL, 20, unbounded, nil},
	{"gitlab", "glcbt-", isURL, 20, unbounded, nil},
	{"gitlab", "glsoat-", isURL, 20, unbounded, nil},
	{"gitlab", "glimt-", isURL, 20, unbounded, nil},
	{"gitlab", "glagent-", isURL, 20, unbounded, nil},
	{"slack", "xoxb-", isURL, 10, unbounded, slackBody},
	{"slack", "xoxp-", isURL, 10, unbounded, slackBody},
	{"slack", "xoxa-", isURL, 10, unbounded, slackBody},
	{"slack", "xoxr-", isURL, 10, unbounded, slackBody},
	{"slack", "xoxs-", isURL, 10, unbounded, slackBody},
	{"slack", "xoxo-", isURL, 10, unbounded, slackBody},
	{"slack", "xoxe-", isURL, 10, unbounded, slackBody},
	{"slack", "xoxe.xoxp-", isURL, 10, unbounded, slackBody},
	{"slack", "xoxe.xoxb-", isURL, 10, unbounded, slackBody},
	{"slack", "xapp-", isURL, 20, unbounded, slackBody},
	{"slack", "hooks.slack.com/services/", isPath, 20, unbounded, nil},
	{"stripe", "sk_live_", isAlnum, 16, unbounded, nil},
	{"stripe", "rk_live_", isAlnum, 16, unbounded, nil},
	{"stripe", "sk_test_", isAlnum, 16, unbounded, nil},
	{"stripe", "rk_test_", isAlnum, 16, unbounded, nil},
	{"stripe", "whsec_", isBase64, 24, unbounded, nil}, // and other senders of Standard Webhooks
	{"huggingface", "hf_", isAlnum, 30, 80, nil},
	{"huggingface", "api_org_", isAlnum, 30, 80, nil},
	{"replicate", "r8_", isAlnum, 37, 40, nil},
	{"groq", "gsk_", isAlnum, 40, 80, nil},
	{"xai", "xai-", isAlnum, 60, 120, nil},
	{"perplexity", "pplx-", isAlnum, 40, 80, nil},
	{"nvidia", "nvapi-", isURL, 60, 100, nil},
	{"cerebras", "csk-", isAlnum, 40, 80, nil},
	{"pinecone", "pcsk_", isURL, 40, 100, nil},
	{"tavily", "tvly-", isURL, 28, 80, hasDigit},
	{"langsmith", "lsv2_pt_", isURL, 32, 80, nil},
	{"langsmith", "lsv2_sk_", isURL, 32, 80, nil},
	{"sendgrid", "SG.", isDotted, 60, 80, oneDot},
	{ruleTwilio, "SK", isHex, 32, 32, nil},
	{"npm", "npm_", isAlnum, 36, 36, nil},
	{"pypi", "pypi-AgE", isURL, 47, unbounded, nil}, // version 2, and a location
	{"databricks", "dapi", isHex, 32, 32, nil},
	{"digitalocean", "dop_v1_", isHex, 64, 64, nil},
	{"shopify", "shpat_", isHex, 32, 32, nil},
	{"vault", "hvs.", isURL, 24, unbounded, nil},
	{"spangrove", "sg_", isAlnum, 32, 32, random},
	{"spangrove", "hh_ingst_", isURL, 40, unbounded, nil},
	{"spangrove", "hh_fgdp_", isURL, 40, unbounded, nil},
	{rulePrivateKey, "AGE-SECRET-KEY-1", isAlnum, 58, 58, isUpperOrDigit},
}

// slackBody reports whether s has what each token of Slack has: the number of a team or an application, or random text.
func slackBody(s string) bool {
	for i := 0; i < len(s); i++ {
		n := span(s[i:], isDigit)
		if n >= 8 {
			return true
		}
		i += n
	}
	return random(s)
}

// otherRules are looked for by code of their own.
var otherRules = []string{
	ruleAWSSecret, ruleAzure, ruleMistral, ruleCohere, ruleTwilio, ruleJWT, ruleBearer, ruleCredentials, rulePrivateKey, ruleCard, ruleEmail,
}

// Rules returns the names of all rules, in order.
func Rules() []string {
	names := slices.Clone(otherRules)
	for _, t := range tokens {
		names = append(names, t.rule)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// The names that stand for several rules in a selection.
const (
	Off     = "off"     // none
	Secrets = "secrets" // all but email, which is no secret
)

// choose returns the rules of a selection: names, Secrets, and names with a minus before them, which are left out again
// wherever they stand. Entries may hold several, separated by commas.
func choose(selection []string) (map[string]bool, error) {
	known := Rules()
	on, without := map[string]bool{}, map[string]bool{}
	off := false
	for _, entry := range selection {
		for name := range strings.SplitSeq(entry, ",") {
			name = strings.TrimSpace(name)
			bare, minus := strings.CutPrefix(name, "-")
			switch {
			case name == "":
			case name == Off:
				off = true
			case name == Secrets:
				for _, rule := range known {
					if rule != ruleEmail {
						on[rule] = true
					}
				}
			case !slices.Contains(known, bare):
				return nil, fmt.Errorf("must be one of off, secrets, %s, or one of these with a minus before it, not %q", strings.Join(known, ", "), name)
			case minus:
				without[bare] = true
			default:
				on[bare] = true
			}
		}
	}
	if off && len(on)+len(without) > 0 {
		return nil, fmt.Errorf("off stands alone; leave it out, or the others")
	}
	for name := range without {
		if len(on) == 0 {
			return nil, fmt.Errorf("-%s leaves out a rule of none; begin with secrets", name)
		}
		delete(on, name)
	}
	return on, nil
}
