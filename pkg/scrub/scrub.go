package scrub

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	maxPatterns      = 100   // each is matched over all text
	maxPatternLength = 1_000 // bytes
)

// Pattern is a rule of a user's own.
type Pattern struct {
	Name    string // lower-case letters, digits and _
	Pattern string // of package regexp; with a group, only what the first group matches is replaced
}

// Scrubber replaces secrets. It may be used by several goroutines at the same time.
type Scrubber struct {
	names   []string // of the rules that are on, own patterns last
	byFirst [256][]int
	tokens  []token // those that are on; byFirst has their places, by their first byte
	ruleOf  []int   // the rule of each of tokens
	common  []bool  // whether the prefix of each of tokens is one of commonPrefixes
	own     []pattern

	jwt, bearer, credentials, privateKey, card, email int // rules, -1 if off
	aws, azure, mistral, cohere, twilio, telegram     int
	apiKey, wandb                                     int
}

type pattern struct {
	rule    int
	re      *regexp.Regexp
	literal string // that every match holds; "" if none is known
}

// New returns a scrubber of the rules that are selected (see Rules, Off and Secrets) and of own patterns. An error names
// what is wrong by its path: "rules: …" or "patterns::2::pattern: …".
func New(selection []string, patterns []Pattern) (*Scrubber, error) {
	on, err := choose(selection)
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	s := &Scrubber{}
	for _, name := range Rules() {
		if on[name] {
			s.names = append(s.names, name)
		}
	}
	for _, t := range tokens {
		if on[t.rule] {
			s.byFirst[t.prefix[0]] = append(s.byFirst[t.prefix[0]], len(s.tokens))
			s.tokens = append(s.tokens, t)
			s.ruleOf = append(s.ruleOf, s.rule(t.rule))
			s.common = append(s.common, slices.Contains(commonPrefixes, t.prefix))
		}
	}
	s.jwt, s.bearer, s.credentials = s.rule(ruleJWT), s.rule(ruleBearer), s.rule(ruleCredentials)
	s.privateKey, s.card, s.email = s.rule(rulePrivateKey), s.rule(ruleCard), s.rule(ruleEmail)
	s.aws, s.azure, s.mistral, s.cohere, s.twilio = s.rule(ruleAWSSecret), s.rule(ruleAzure), s.rule(ruleMistral), s.rule(ruleCohere), s.rule(ruleTwilio)
	s.telegram, s.apiKey, s.wandb = s.rule(ruleTelegram), s.rule(ruleAPIKey), s.rule(ruleWandB)
	if len(patterns) > maxPatterns {
		return nil, fmt.Errorf("patterns: at most %d, not %d", maxPatterns, len(patterns))
	}
	for i, p := range patterns {
		if err := s.add(p); err != nil {
			return nil, fmt.Errorf("patterns::%d::%w", i, err)
		}
	}
	return s, nil
}

var validName = regexp.MustCompile(`^[a-z0-9_]{1,50}$`)

func (s *Scrubber) add(p Pattern) error {
	switch {
	case !validName.MatchString(p.Name):
		return fmt.Errorf("name: must be 1 to 50 lower-case letters, digits and _, not %q", p.Name)
	case slices.Contains(s.names, p.Name), slices.Contains(Rules(), p.Name):
		return fmt.Errorf("name: %q is the name of another rule", p.Name)
	case p.Pattern == "":
		return errors.New("pattern: is required")
	case len(p.Pattern) > maxPatternLength:
		return fmt.Errorf("pattern: at most %d bytes, not %d", maxPatternLength, len(p.Pattern))
	}
	re, err := regexp.Compile(p.Pattern)
	if err != nil {
		return fmt.Errorf("pattern: %w", err)
	}
	if re.MatchString("") || re.MatchString("[scrubbed:"+p.Name+"]") {
		return errors.New("pattern: must match neither the empty text nor [scrubbed:" + p.Name + "]")
	}
	s.own = append(s.own, pattern{rule: len(s.names), re: re, literal: literalOf(p.Pattern)})
	s.names = append(s.names, p.Name)
	return nil
}

// rule returns the place of a rule among those that are on, or -1.
func (s *Scrubber) rule(name string) int { return slices.Index(s.names, name) }

// Names returns the rules that are on, in the order of Counts.
func (s *Scrubber) Names() []string { return s.names }

// Counts is how many secrets were replaced, by the place of their rule in Names.
type Counts []int

// NewCounts returns counts of zero.
func (s *Scrubber) NewCounts() Counts { return make(Counts, len(s.names)) }

// Text returns text with its secrets replaced, and adds them to n. Text without any is returned as it is. name is the key
// under which the text stands, or "": some secrets have no form of their own and are recognised by their name alone.
func (s *Scrubber) Text(name, text string, n Counts) string {
	return s.text(tail(name), text, n, 0)
}

// tail returns the end of a name, which says what it is the name of.
func tail(name string) string { return name[max(0, len(name)-near):] }

// maxDepth is how many levels of JSON within strings of JSON are decoded. What is below is scrubbed as plain text.
const maxDepth = 8

func (s *Scrubber) text(name, text string, n Counts, depth int) string {
	if len(text) < shortest || len(s.names) == 0 {
		return text
	}
	hits := s.find(name, text, nil)
	json := depth < maxDepth && looksLikeJSON(text)
	if len(hits) == 0 && (!json || !s.mayHide(text)) {
		return text
	}
	if json && validJSON(text) {
		return s.walk(name, text, n, depth)
	}
	return s.replace(text, hits, n)
}

// hit is a secret in a text.
type hit struct{ from, to, rule int }

// replace returns text with the hits replaced. Hits that overlap are one, of the rule that begins first.
func (s *Scrubber) replace(text string, hits []hit, n Counts) string {
	if len(hits) == 0 {
		return text
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return a.from - b.from })
	var b strings.Builder
	b.Grow(len(text) + 16*len(hits))
	done := 0
	for i := 0; i < len(hits); {
		h := hits[i]
		for i++; i < len(hits) && hits[i].from < h.to; i++ {
			h.to = max(h.to, hits[i].to)
		}
		b.WriteString(text[done:h.from])
		b.WriteString(s.placeholder(h.rule))
		n[h.rule]++
		done = h.to
	}
	b.WriteString(text[done:])
	return b.String()
}

func (s *Scrubber) placeholder(rule int) string { return "[scrubbed:" + s.names[rule] + "]" }

// Number returns what replaces a number, if its name says that it is a payment card and it is one.
func (s *Scrubber) Number(name string, number int64, n Counts) (placeholder string, ok bool) {
	if s.card < 0 || number < 1e12 || !namesCard(tail(name)) || !isCard(strconv.FormatInt(number, 10)) {
		return "", false
	}
	n[s.card]++
	return s.placeholder(s.card), true
}
