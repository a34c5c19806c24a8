package otlpmap

import (
	"strings"
)

// The bounds of the compiled tables. A table that outgrows them fails the package's tests.
const (
	maxSlots  = 640 // attribute names with a meaning
	maxFields = 320 // fields the tables fill
	maxRules  = 768
)

// The objects of an event. bucketHot and bucketCold are the two halves of metadata.
const (
	bucketConfig = iota
	bucketInputs
	bucketOutputs
	bucketHot
	bucketCold
	bucketMetrics
	bucketFeedback
	bucketUser
	buckets
)

var bucketNames = map[string]int{
	"config": bucketConfig, "inputs": bucketInputs, "outputs": bucketOutputs, "metadata": bucketHot,
	"metrics": bucketMetrics, "feedback": bucketFeedback, "user_properties": bucketUser,
}

// slot is the place of a known attribute in slotIndex, -1 for none.
type slot = int16

// target is where a rule writes: a field of a bucket, or (key "") the bucket itself.
type target struct {
	bucket int
	key    string
	field  int    // in build.set; -1 for a bucket itself
	member string // the key as a member's name, with quotes and colon; "" if not made
}

// source is where a rule reads: the attribute at slot, the family fam, or the span's events.
type source struct {
	slot   slot
	fam    int16
	events bool
}

type compiledRule struct {
	*rule
	target
	src []source
}

// ruleSet is a set of rules: those that have something to read.
type ruleSet [maxRules / 64]uint64

func (s *ruleSet) add(rule int) { s[rule/64] |= 1 << (rule % 64) }

func (s *ruleSet) join(o *ruleSet) {
	for i := range s {
		s[i] |= o[i]
	}
}

// tables is what a Mapper looks names up in. It is made once and never written again.
type tables struct {
	names    map[string]slot
	anyPart  map[string]bool  // first parts of the names whose second part may be any
	families map[string]int16 // by prefix, without the last dot
	open     []bool           // by family: takes any name, not only an index
	famNames []string
	slotBy   [maxSlots]convention
	famBy    []convention
	rules    []compiledRule
	kinds    []slot

	slotRules [maxSlots]ruleSet    // the rules that read a slot
	famRules  [maxFamilies]ruleSet // the rules that read a family
	eventRule ruleSet              // the rules that read span events

	lists             [keyListCount][]slot // the attributes of each keyList
	models, providers []slot
	countFields       [countKinds][]target
	knownSlots

	// systems and frameworks are what the conventions have under these names.
	systems    map[string]convention
	frameworks map[string]bool
	// memberNames are the names that members of requests and answers mostly have, so that they need
	// not be made anew for each.
	memberNames map[string]string
}

var compiled *tables

// The rules refer to readers and the readers to the compiled rules: an initializer would be a cycle.
func init() {
	compiled = compile()
}

// knownSlots are the attributes that code asks for by itself.
type knownSlots struct {
	systemInstructions    slot
	inputMime, outputMime slot
	inputValue, rawOutput slot
	conversationID        slot
	toolCallID            slot
	keptSlots             []slot // of keptNames
	genAISystems          []slot
	// Langfuse's level of an observation, and its message of a failure.
	observationLevel, observationMessage slot
	spanType, pendingParent              slot // Logfire: see pending
	systemName                           []slot
	callerMetadata                       slot // OpenInference's JSON object of the caller's own metadata
}

// findKnownSlots looks up the known slots, after the rules have named their attributes.
func (t *tables) findKnownSlots() {
	at := func(name string) slot {
		s, ok := t.names[name]
		if !ok {
			panic("otlpmap: no rule reads " + name)
		}
		return s
	}
	t.knownSlots = knownSlots{
		systemInstructions: at("gen_ai.system_instructions"),
		inputMime:          at("input.mime_type"),
		outputMime:         at("output.mime_type"),
		inputValue:         at("input.value"),
		rawOutput:          at("output.value"),
		conversationID:     at("gen_ai.conversation.id"),
		callerMetadata:     at("metadata"),
		toolCallID:         at("gen_ai.tool.call.id"),
		genAISystems:       []slot{at("gen_ai.system"), at("gen_ai.provider.name")},
		observationLevel:   at("langfuse.observation.level"),
		observationMessage: t.slot("langfuse.observation.status_message", langfuse),
		systemName:         []slot{at("gen_ai.system")},
		spanType:           t.slot("logfire.span_type", logfire),
		pendingParent:      t.slot("logfire.pending_parent_id", logfire),
	}
	for _, name := range keptNames {
		t.keptSlots = append(t.keptSlots, at(name))
	}
}

// compile makes the tables of all rules, kinds and key lists.
func compile() *tables {
	t := &tables{names: map[string]slot{}, anyPart: map[string]bool{}, families: map[string]int16{}}
	for i := range rules {
		r := &rules[i]
		if r.on == 0 {
			r.on = onAll
		}
		c := compiledRule{rule: r, target: declareField(r.to)}
		for _, name := range r.from {
			c.src = append(c.src, t.source(name, r.by))
		}
		t.index(&c)
		t.rules = append(t.rules, c)
	}
	for i := range kindRules {
		k := slot(-1)
		if kindRules[i].attr != spanName {
			k = t.slot(kindRules[i].attr, kindRules[i].by)
		}
		t.kinds = append(t.kinds, k)
	}
	for l, names := range keyLists {
		for _, name := range names {
			t.lists[l] = append(t.lists[l], t.slot(name, guess(name)))
		}
	}
	for i, keys := range countKeys {
		for _, key := range keys {
			t.countFields[i] = append(t.countFields[i], declareField("metadata."+key))
		}
	}
	for _, name := range modelNames {
		t.models = append(t.models, t.slot(name, otelGenAI))
	}
	for _, name := range providerNames {
		t.providers = append(t.providers, t.slot(name, otelGenAI))
	}
	t.findKnownSlots()
	t.nameSystems()
	t.nameMembers()
	return t
}

// index notes which attributes call for the next rule, so that a span runs only the rules that
// have something to read.
func (t *tables) index(c *compiledRule) {
	n := len(t.rules)
	if n >= maxRules {
		panic("otlpmap: more rules than maxRules")
	}
	for _, src := range c.src {
		if src.slot >= 0 {
			t.slotRules[src.slot].add(n)
		}
		if src.fam >= 0 {
			t.famRules[src.fam].add(n)
		}
		if src.events {
			t.eventRule.add(n)
		}
	}
}

// guess returns the convention of a name that only a list mentions.
func guess(name string) convention {
	for c := range conventions {
		if prefix := conventions[c].prefix; prefix != "" && strings.HasPrefix(name, prefix) {
			return convention(c)
		}
	}
	return otel
}

func (t *tables) source(name string, by convention) source {
	if name == "@messages" {
		return source{slot: -1, fam: -1, events: true}
	}
	prefix, kind := name[:max(len(name)-2, 0)], name[max(len(name)-2, 0):]
	if kind != ".N" && kind != ".*" {
		return source{slot: t.slot(name, by), fam: -1}
	}
	id, ok := t.families[prefix]
	if !ok {
		id = int16(len(t.open))
		if id >= maxFamilies {
			panic("otlpmap: more families than maxFamilies")
		}
		t.families[prefix] = id
		t.open = append(t.open, kind == ".*")
		t.famNames = append(t.famNames, prefix)
		t.famBy = append(t.famBy, by)
	}
	// The bare prefix, too, can hold the whole value of an open family.
	s := source{slot: -1, fam: id}
	if kind == ".*" {
		s.slot = t.slot(prefix, by)
	}
	return s
}

func (t *tables) slot(name string, by convention) slot {
	if s, ok := t.names[name]; ok {
		return s
	}
	if !strings.Contains(name, ".") && !strings.HasPrefix(name, "honeyhive") {
		by = otel // a word that anyone may use does not show who did
	}
	s := slot(len(t.names))
	if s >= maxSlots {
		panic("otlpmap: more attribute names than maxSlots")
	}
	t.names[name] = s
	if head, _, ok := strings.Cut(name, ".?."); ok {
		t.anyPart[head] = true
	}
	t.slotBy[s] = by
	return s
}
