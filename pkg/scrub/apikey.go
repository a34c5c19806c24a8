package scrub

import (
	"slices"
	"strings"
)

// How long a value must be to be a key, by what its name says.
const (
	minVariable  = 16 // TOGETHER_API_KEY, in capitals
	minKeyName   = 20 // apiKey, x-api-key, client_secret
	minTokenName = 32 // token, secret: these name other things as well
)

// variableEnds are the ends of names of environment variables that hold keys.
var variableEnds = []string{
	"_API_KEY", "_APIKEY", "_TOKEN", "_SECRET", "_SECRET_KEY", "_ACCESS_KEY", "_AUTH_KEY", "_APP_KEY", "_LICENSE_KEY", "_SIGNING_KEY", "_ENCRYPTION_KEY", "_PAT",
}

// keyNameEnds are the ends of other names that say so, in lower case without signs.
var keyNameEnds = []string{
	"apikey", "apitoken", "apisecret", "accesstoken", "accesskey", "authtoken", "bearertoken", "refreshtoken", "sessiontoken", "bottoken", "privatetoken",
	"secretkey", "clientsecret", "appsecret", "signingsecret", "webhooksecret", "authorization", "honeycombteam",
}

// openWords are words in names of tokens and keys that are no secrets: places in a list, and what everybody may know.
var openWords = map[string]bool{
	"page": true, "next": true, "continuation": true, "cursor": true, "sync": true, "public": true, "publishable": true,
	"cache": true, "idempotency": true, "partition": true,
}

// findAPIKeys looks in a run for values that look random and have the name of a key before them. What is one of hits, those of the run,
// already is left to its rule.
func (s *Scrubber) findAPIKeys(name, text string, from, to int, hits []hit, first int) []hit {
	taken := slices.Clone(hits[first:])
	slices.SortFunc(taken, func(a, b hit) int { return a.from - b.from })
	free := func(h hit) bool { // asked for hits in the order of their places
		for len(taken) > 0 && taken[0].to <= h.from {
			taken = taken[1:]
		}
		return len(taken) == 0 || taken[0].from >= h.to
	}
	if end, ok := nameBefore(text, from); ok {
		if h, ok := s.apiKeyAt(name, text, end, from, to); ok && free(h) {
			return append(hits, h)
		}
	}
	for at := from; ; {
		i := strings.IndexByte(text[at:to], '=')
		if i < 0 || to-at-i < minVariable {
			return hits
		}
		i += at
		at = i + 1
		if i == from {
			continue
		}
		if h, ok := s.apiKeyAt("", text, i, i+1, to); ok {
			if free(h) {
				hits = append(hits, h)
			}
			at = h.to
		}
	}
}

// nameBefore returns the end of the name of the value that begins at text[at:], if a colon, an equals sign or the like is between them, and else no more than
// quotes and brackets; 0 if that is the beginning of the text. A scheme after the name of a header, as in Authorization: Token …, is passed over.
func nameBefore(text string, at int) (end int, ok bool) {
	if at < 2 || text[at-1] != ' ' || !is(text[at-2], isAlnum) {
		return signBefore(text, at)
	}
	word := at - 1
	for word > 0 && at-word < len("api-key ") && (is(text[word-1], isAlnum) || text[word-1] == '-') {
		word--
	}
	switch strings.ToLower(text[word : at-1]) {
	case "token", "key", "apikey", "api-key", "bot":
	default:
		return 0, false
	}
	end, ok = signBefore(text, word)
	return end, ok && (end == 0 || endsWithFold(text[:end], "authorization"))
}

func signBefore(text string, at int) (end int, ok bool) {
	const most, escapes = 12, 600 // signs, and backslashes before them: of JSON in JSON, up to maxDepth levels
	signs := 0
	for end = at; end > 0 && at-end < escapes; end-- {
		switch text[end-1] {
		case '\\', ' ', '\t': // columns of tables and of YAML are padded
			continue
		case ':', '=', '|': // the last in a table
			ok = true
		case ',': // of two strings
			if end < 2 || text[end-2] != '"' && text[end-2] != '\'' {
				return end, ok
			}
			ok = true
		case '"', '\'', '`', '>', '[', ']', ')':
		default:
			return end, ok
		}
		if signs++; signs > most {
			return 0, false
		}
	}
	if end > 0 {
		return 0, false
	}
	return 0, true
}

func endsWithFold(s, end string) bool {
	return len(s) >= len(end) && strings.EqualFold(s[len(s)-len(end):], end)
}

// apiKeyAt returns the value that begins at text[from:], if it is a key: what ends at nameEnd, or name if that is 0, says so, and it looks random.
func (s *Scrubber) apiKeyAt(name, text string, nameEnd, from, to int) (hit, bool) {
	if from >= to || !is(text[from], isAlnum) && text[from] != '_' && text[from] != '+' && text[from] != '-' {
		return hit{}, false
	}
	if nameEnd > 0 {
		name = nameAt(text, nameEnd)
	}
	least, isAPIKey := keyName(name)
	if least == 0 {
		return hit{}, false
	}
	end := from
	for end < to && end-from < unbounded && isOpaque(text[end]) {
		end++
	}
	value := strings.TrimRight(text[from:end], ".")
	if len(value) < least || end < len(text) && (text[end] == '(' || text[end] == '[') { // a call
		return hit{}, false
	}
	if isUUID(value) {
		if !isAPIKey {
			return hit{}, false
		}
	} else if !randomPart(value) {
		return hit{}, false
	}
	if end-from == unbounded {
		for end < to && isOpaque(text[end]) {
			end++
		}
		value = text[from:end]
	}
	return hit{from, from + len(value), s.apiKey}, true
}

// isOpaque reports whether c may stand in a key of unknown form.
func isOpaque(c byte) bool { return is(c, isDotted) || is(c, isBase64) || c == '~' }

// randomPart reports whether one of the parts of s between full stops looks random: settings.v1.key2 does not.
func randomPart(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if random(part) {
			return true
		}
	}
	return false
}

// isUUID reports whether s is a UUID as they are written.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return false
			}
		} else if !is(s[i], isHex) {
			return false
		}
	}
	return true
}

// nameAt returns the name that ends at text[:end], of two words if they have a space between them, such as API key. A type after it is passed over.
func nameAt(text string, end int) string {
	for _, kind := range []string{" str", " string"} {
		if strings.HasSuffix(text[:end], kind) {
			end = len(strings.TrimRight(text[:end-len(kind)], ":"))
			break
		}
	}
	start := end
	for start > 0 && end-start < near && is(text[start-1], isDotted) {
		start--
	}
	if start > 0 && start < end && text[start-1] == '\\' {
		start = min(escapeEnd(text, start-1, end), end)
	}
	if word := text[start:end]; start > 1 && text[start-1] == ' ' && (strings.EqualFold(word, "key") || strings.EqualFold(word, "token") || strings.EqualFold(word, "secret")) {
		for start--; start > 0 && end-start < near && is(text[start-1], isAlnum); start-- {
		}
	}
	return text[start:end]
}

// followsAPIKey reports whether the name of the value that begins at text[at:] is API key and no more: api-key, apiKey, config.api_key.
func followsAPIKey(name, text string, at int) bool {
	end, ok := nameBefore(text, at)
	if end > 0 {
		name = nameAt(text, end)
	}
	return ok && hintOf(name[strings.LastIndexByte(name, '.')+1:], "", 0) == "apikey"
}

// keyName returns how long a value must be that has a name, 0 if that is no key's, and whether it is an API key's, of which some are UUIDs.
func keyName(name string) (least int, isAPIKey bool) {
	if len(name) < len("token") {
		return 0, false
	}
	switch name[len(name)-1] | 0x20 {
	case 'y', 'n', 't', 's', 'm':
	default:
		return 0, false // nearly all names
	}
	name = strings.TrimSuffix(tail(name), "s")
	plain := hintOf(name, "", 0)
	last := name[strings.LastIndexAny(name, ". ")+1:]
	switch {
	case strings.ToUpper(name) == name && hasSuffix(name, variableEnds):
		least = minVariable
	case hasSuffix(plain, keyNameEnds), isHeader(last) && (endsWithFold(last, "-token") || endsWithFold(last, "-key")):
		least = minKeyName
	case strings.EqualFold(last, "token"), strings.EqualFold(last, "secret"):
		least = minTokenName
	default:
		return 0, false
	}
	for _, word := range wordsOf(name) {
		if openWords[word] {
			return 0, false
		}
	}
	return least, strings.HasSuffix(plain, "apikey")
}

func hasSuffix(s string, ends []string) bool {
	for _, end := range ends {
		if strings.HasSuffix(s, end) {
			return true
		}
	}
	return false
}

// isHeader reports whether a name begins as those of headers of an application's own do.
func isHeader(name string) bool { return len(name) > 1 && name[0]|0x20 == 'x' }
