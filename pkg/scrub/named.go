package scrub

import "strings"

// shortestNamed is the length of the shortest secret that is known by its name.
const shortestNamed = 32

// near is how far before a secret its name may end to count.
const near = 64

// findNamed looks in a run for secrets that have no prefix of their own: by their length and the name before them, and
// those of Azure that carry a mark in their middle.
func (s *Scrubber) findNamed(name, text string, from, to int, hits []hit) []hit {
	if s.aws < 0 && s.azure < 0 && s.mistral < 0 && s.cohere < 0 && s.twilio < 0 && s.wandb < 0 {
		return hits
	}
	for from < to {
		// A value: what base64 is made of, with the slashes of JSON escaped or not. "=" ends a name as well as a value.
		end := from
		for end < to && is(text[end], isValue) {
			end++
		}
		if end+1 < to && text[end] == '\\' && text[end+1] == '/' && end > from {
			end = escapedValueEnd(text, end, to)
		}
		if end-from < shortestNamed {
			if from = end + 1; end < to && text[end] == '\\' {
				from = max(escapeEnd(text, end, to), from)
			}
			continue
		}
		n := end - from - strings.Count(text[from:end], `\`)
		pad := 0
		for end+pad < to && text[end+pad] == '=' && pad < 2 {
			pad++
		}
		if rule := s.named(name, text, from, end, n, pad); rule >= 0 {
			hits = append(hits, hit{from, end + pad, rule})
		}
		from = end
	}
	return hits
}

// escapedValueEnd returns the end of a value that has gone up to at and goes on behind an escaped slash.
func escapedValueEnd(text string, at, to int) int {
	for at < to && (is(text[at], isValue) || text[at] == '\\' && at+1 < to && text[at+1] == '/') {
		at++
	}
	return at
}

// named returns the rule of the value text[from:end], n bytes without escapes and pad signs of padding, or -1.
func (s *Scrubber) named(name, text string, from, end, n, pad int) int {
	value := text[from:end]
	switch n {
	case 32:
		if !all(value, isAlnum) || !hasDigit(value) {
			return -1
		}
		hint := hintOf(name, text, from)
		switch {
		case s.azure >= 0 && all(value, isHex) && (strings.Contains(hint, "azure") && strings.Contains(hint, "key") ||
			strings.Contains(hint, "subscriptionkey") || strings.HasSuffix(hint, "apikey") && followsAPIKey(name, text, from)):
			return s.azure
		case s.twilio >= 0 && all(value, isHex) && (strings.Contains(hint, "twilio") || strings.HasSuffix(hint, "authtoken")):
			return s.twilio
		case s.mistral >= 0 && strings.Contains(hint, "mistral") && strings.Contains(hint, "key"):
			return s.mistral
		}
	case 40:
		if s.wandb >= 0 && all(value, isHex) {
			if hint := hintOf(name, text, from); strings.Contains(hint, "wandb") && (strings.HasSuffix(hint, "wandb") || strings.HasSuffix(hint, "key") || strings.HasSuffix(hint, "password")) {
				return s.wandb
			}
		}
		if !mixed(value) {
			return -1
		}
		hint := hintOf(name, text, from)
		switch {
		case s.aws >= 0 && strings.Contains(hint, "secret") && strings.Contains(hint, "key"):
			return s.aws
		case s.cohere >= 0 && all(value, isAlnum) && (strings.Contains(hint, "cohere") || strings.HasSuffix(hint, "coapikey")):
			return s.cohere
		}
	case 80, 84: // keys of Azure's AI services, and others that are marked as Microsoft's
		if s.azure >= 0 && value[52:57] == "JQQJ9" {
			return s.azure
		}
	case 86, 42, 43: // keys of storage and of buses, 512 and 256 bits
		want := 2
		if n == 43 {
			want = 1
		}
		if s.azure < 0 || pad != want || !mixed(value) || strings.HasSuffix(text[:from], "h1:") { // of go.sum
			return -1
		}
		hint := hintOf(name, text, from)
		if strings.HasSuffix(hint, "accountkey") || strings.HasSuffix(hint, "accesskey") || strings.HasSuffix(hint, "storagekey") || strings.Contains(hint, "azure") && strings.Contains(hint, "key") {
			return s.azure
		}
	}
	return -1
}

// hintOf returns the name of a text and what stands before a place in it, in lower case, letters and digits alone, so that
// api_key, apiKey and "api-key": are alike.
func hintOf(name, text string, at int) string {
	var b strings.Builder
	for _, part := range []string{name, text[max(0, at-near):at]} {
		for i := range len(part) {
			if c := part[i]; is(c, isAlnum) {
				b.WriteByte(c | 0x20) // digits have that bit
			}
		}
	}
	return b.String()
}

// findAzureClient looks in a run for secrets of Azure's applications (…8Q~…) and signatures of shared access.
func (s *Scrubber) findAzureClient(text string, from, to int, hits []hit) []hit {
	run := text[from:to]
	if i := strings.Index(run, "Q~"); i >= 4 && is(run[i-1], isDigit) {
		begin := i - 4
		n := 0
		for begin+n < len(run) && (is(run[begin+n], isDotted) || run[begin+n] == '~') {
			n++
		}
		if n >= 37 && n <= 41 && (begin == 0 || !is(run[begin-1], isAlnum)) {
			hits = append(hits, hit{from + begin, from + begin + n, s.azure})
		}
	}
	if i := strings.Index(run, "sig="); i >= 0 && (i == 0 || !is(run[i-1], isAlnum) || strings.HasSuffix(run[:i], `\u0026`)) {
		value := run[i+len("sig="):]
		n := 0
		for n < len(value) && (is(value[n], isBase64) || value[n] == '%') {
			n++
		}
		if n >= 43 && mixed(value[:n]) {
			hits = append(hits, hit{from + i + len("sig="), from + i + len("sig=") + n, s.azure})
		}
	}
	return hits
}
