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
	ruleTelegram    = "telegram"
	ruleDiscord     = "discord"
	ruleWandB       = "wandb"
	ruleAPIKey      = "api_key"
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
	{"litellm", "sk-litellm-", isURL, 16, unbounded, random},
	{"langfuse", "sk-lf-", isURL, 32, 40, nil},
	{"openai", "sk-proj-", isURL, 20, unbounded, nil},
	{"openai", "sk-svcacct-", isURL, 20, unbounded, nil},
	{"openai", "sk-admin-", isURL, 20, unbounded, nil},
	{"openai", "sk-None-", isURL, 20, unbounded, nil},
	{"litellm", "sk-", isURL, 22, 22, litellmKey},
	{"openai", "sk-", isAlnum, 20, unbounded, hasDigit}, // the older form, and that of providers with a like API
	{"google", "AIza", isURL, 35, 35, nil},
	{"google", "ya29.", isURL, 30, unbounded, nil},
	{"google", "GOCSPX-", isURL, 28, 28, nil},
	{"google", "AQ.Ab", isURL, 40, 80, hasDigit},
	{"google", "1//0", isURL, 40, unbounded, random},
	{"google", `1\/\/0`, isURL, 40, unbounded, random},
	{"aws_access_key", "AKIA", isAlnum, 16, 16, isUpperOrDigit},
	{"aws_access_key", "ASIA", isAlnum, 16, 16, isUpperOrDigit},
	{"aws_access_key", "ABIA", isAlnum, 16, 16, isUpperOrDigit},
	{"aws_access_key", "ACCA", isAlnum, 16, 16, isUpperOrDigit},
	{"aws_session_token", "IQoJb3JpZ2lu", isSentBase64, 100, unbounded, nil},
	{"aws_session_token", "FwoGZXIvYXdz", isSentBase64, 100, unbounded, nil},
	{"aws_session_token", "FQoGZXIvYXdz", isSentBase64, 100, unbounded, nil},
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
	{"langsmith", "ls__", isHex, 32, 64, nil},
	{"together", "tgp_v1_", isURL, 40, 60, nil},
	{"fireworks", "fw_", isAlnum, 20, 48, random},
	{"voyage", "pa-", isURL, 40, 50, random},
	{"elevenlabs", "sk_", isHex, 48, 48, nil},
	{"jina", "jina_", isURL, 50, 80, random},
	{"firecrawl", "fc-", isHex, 32, 32, nil},
	{"braintrust", "bt-st-", isAlnum, 30, 100, random}, // its older keys are like those of openai
	{ruleWandB, "wandb_v1_", isURL, 40, 120, random},
	{"sendgrid", "SG.", isDotted, 60, 80, oneDot},
	{ruleTwilio, "SK", isHex, 32, 32, nil},
	{"npm", "npm_", isAlnum, 36, 36, nil},
	{"pypi", "pypi-AgE", isURL, 47, unbounded, nil}, // version 2, and a location
	{"databricks", "dapi", isHex, 32, 32, nil},
	{"digitalocean", "dop_v1_", isHex, 64, 64, nil},
	{"digitalocean", "doo_v1_", isHex, 64, 64, nil},
	{"digitalocean", "dor_v1_", isHex, 64, 64, nil},
	{"shopify", "shpat_", isHex, 32, 32, nil},
	{"shopify", "shpss_", isHex, 32, 32, nil},
	{"shopify", "shpca_", isHex, 32, 32, nil},
	{"shopify", "shppa_", isHex, 32, 32, nil},
	{"vault", "hvs.", isURL, 24, unbounded, nil},
	{"vault", "hvb.", isURL, 24, unbounded, nil},
	{"vault", "hvr.", isURL, 24, unbounded, nil},
	{"vault", "s.", isAlnum, 24, 24, mixedRandom},
	{"docker", "dckr_pat_", isURL, 20, 60, nil},
	{"docker", "dckr_oat_", isURL, 20, 60, nil},
	{"grafana", "glsa_", isURL, 41, 41, nil},
	{"grafana", "glc_", isBase64, 40, unbounded, hasDigit},
	{"sentry", "sntrys_", isAnyBase64, 60, unbounded, nil},
	{"sentry", "sntryu_", isHex, 64, 64, nil},
	{"notion", "ntn_", isAlnum, 40, 60, random},
	{"notion", "secret_", isAlnum, 43, 43, mixedRandom},
	{"linear", "lin_api_", isAlnum, 32, 80, nil},
	{"linear", "lin_oauth_", isAlnum, 32, 80, nil},
	{"figma", "figd_", isURL, 32, 80, random},
	{"supabase", "sbp_", isHex, 40, 40, nil},
	{"supabase", "sb_secret_", isURL, 20, 80, random},
	{"atlassian", "ATATT3", isAnyBase64, 100, unbounded, nil},
	{"atlassian", "ATCTT3", isAnyBase64, 100, unbounded, nil},
	{"atlassian", "ATBB", isAlnum, 32, 32, mixed},
	{"newrelic", "NRAK-", isAlnum, 27, 27, nil},
	{"newrelic", "NRII-", isURL, 32, 32, nil},
	{"posthog", "phx_", isAlnum, 40, 64, nil}, // not phc_, which is in the pages of who uses it
	{"posthog", "phs_", isAlnum, 40, 64, nil},
	{"honeycomb", "hcaik_", isAlnum, 40, 64, hasDigit},
	{"honeycomb", "hcbik_", isAlnum, 40, 64, hasDigit},
	{"honeycomb", "hcxik_", isAlnum, 40, 64, hasDigit},
	{"honeycomb", "hcaic_", isAlnum, 40, 64, hasDigit},
	{"honeycomb", "hcbic_", isAlnum, 40, 64, hasDigit},
	{"honeycomb", "hcxic_", isAlnum, 40, 64, hasDigit},
	{ruleDiscord, "M", isDotted, 54, 80, discordBot}, // M, N and O: how digits begin in base64
	{ruleDiscord, "N", isDotted, 54, 80, discordBot},
	{ruleDiscord, "O", isDotted, 54, 80, discordBot},
	{ruleDiscord, "discord.com/api/webhooks/", isPath, 60, unbounded, nil},
	{ruleDiscord, "discordapp.com/api/webhooks/", isPath, 60, unbounded, nil},
	{"brevo", "xkeysib-", isURL, 60, 100, nil},
	{"brevo", "xsmtpsib-", isURL, 60, 100, nil},
	{"mailgun", "key-", isHex, 32, 32, nil},
	{"square", "EAAA", isURL, 60, 60, mixedRandom},
	{"square", "sq0atp-", isURL, 22, 22, nil},
	{"square", "sq0csp-", isURL, 43, 43, nil},
	{"razorpay", "rzp_live_", isAlnum, 14, 14, nil},
	{"razorpay", "rzp_test_", isAlnum, 14, 14, nil},
	{"tailscale", "tskey-", isURL, 20, unbounded, random},
	{"spangrove", "sg_", isAlnum, 32, 32, isBase32},
	{"spangrove", "hh_ingst_", isURL, 40, unbounded, nil},
	{"spangrove", "hh_fgdp_", isURL, 40, unbounded, nil},
	{rulePrivateKey, "AGE-SECRET-KEY-1", isAlnum, 58, 58, isUpperOrDigit},
}

// commonPrefixes are those of tokens that other words end with, as in /srv/s.js or cache-key-…: they count only behind something that joins
// no words.
var commonPrefixes = []string{"1//0", `1\/\/0`, "pa-", "fc-", "s.", "key-", "EAAA", "M", "N", "O"}

// joins reports whether c joins words, in file names and in base64.
func joins(c byte) bool { return c == '-' || c == '_' || c == '.' || c == '/' || c == '+' || c == '~' }

func mixedRandom(s string) bool { return mixed(s) && random(s) && !strings.Contains(s, "AAAAA") }

func litellmKey(s string) bool { return strings.ContainsAny(s, "-_") && mixed(s) && random(s) }

// discordBot reports whether s, behind the first letter of a token, is the rest of three parts: the bot's id in base64, a time and a signature.
func discordBot(s string) bool {
	parts := strings.Split(s, ".")
	return len(parts) == 3 && len(parts[0]) >= 22 && len(parts[0]) <= 28 && len(parts[1]) >= 5 && len(parts[1]) <= 7 && len(parts[2]) >= 27 && mixed(parts[0])
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
	ruleAWSSecret, ruleAzure, ruleMistral, ruleCohere, ruleTwilio, ruleTelegram, ruleAPIKey, ruleJWT, ruleBearer, ruleCredentials, rulePrivateKey, ruleCard, ruleEmail,
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
