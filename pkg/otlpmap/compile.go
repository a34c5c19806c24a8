package otlpmap

import (
	"strings"
)

// The bounds of the compiled tables: they are the sizes of arrays and bit sets, so that mapping a span allocates
// none. compile panics if a table outgrows them, and so every test of the package fails.
const (
	maxSlots  = 640 // attribute names with a meaning
	maxFields = 320 // fields the tables fill
	maxRules  = 768
)

// The objects of an event. bucketHot and bucketCold are the two halves of metadata: the store keeps them apart (see
// event.ColdKey).
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

// bucketNames are the objects by the names that rules give them. A rule says "metadata" of both halves:
// event.ColdKey decides by the key which half a member belongs to (see declareField).
var bucketNames = map[string]int{
	"config": bucketConfig, "inputs": bucketInputs, "outputs": bucketOutputs, "metadata": bucketHot,
	"metrics": bucketMetrics, "feedback": bucketFeedback, "user_properties": bucketUser,
}

// slot is the number of a known attribute name, and its place in slotIndex; -1 for none. The
// tables number the names in the order in which rules mention them.
type slot = int16

// target is where a rule writes: a field of a bucket, or (key "") the bucket itself.
type target struct {
	bucket int
	key    string
	// The number of the field, in eventBuilder.set; -1 for a bucket itself.
	field  int
	member string // the key as a member's name, with quotes and colon; "" if not made
}

// ruleSource is where a rule reads: the attribute at slot, the family fam, or the span's events.
type ruleSource struct {
	slot   slot
	fam    int16
	events bool
}

// compiledRule is a rule with its names looked up: its target, and its sources in the order of rule.from.
type compiledRule struct {
	*rule
	target
	src []ruleSource
}

// ruleSet is a set of rules, a bit for each: those that have something to read. A span's set is the union over its
// attributes; walking its bits from the lowest keeps the rules in their order.
type ruleSet [maxRules / 64]uint64

// add adds a rule by its number.
func (s *ruleSet) add(rule int) { s[rule/64] |= 1 << (rule % 64) }

// join adds all rules of another set.
func (s *ruleSet) join(o *ruleSet) {
	for i := range s {
		s[i] |= o[i]
	}
}

// tables is what a Mapper looks names up in. It is made once and never written again, so that all goroutines
// share it without a lock.
type tables struct {
	// The names of single attributes. Those with a part that may be any are in it as written, with "?": then
	// anyPart has the part before it.
	names   map[string]slot
	anyPart map[string]bool
	// The families of attributes, by prefix without the last dot; open ones take any name below the prefix
	// ("p.*"), the others only an index ("p.N"). famNames has the prefixes by number.
	families map[string]int16
	open     []bool
	famNames []string
	// The convention that a name belongs to: a span with such an attribute is of that convention, unless its scope
	// announces another one, or it has an attribute of a more specific one.
	slotBy [maxSlots]convention
	famBy  []convention
	// All rules in their order, and for each of kindRules the slot of its attribute, -1 for the span's name.
	rules []compiledRule
	kinds []slot

	slotRules [maxSlots]ruleSet    // the rules that read a slot
	famRules  [maxFamilies]ruleSet // the rules that read a family
	eventRule ruleSet              // the rules that read span events

	// The attributes of each keyList, and of modelNames and providerNames.
	lists             [keyListCount][]slot
	models, providers []slot
	accounts          [len(conventions)][]slot // what the conventions have under this name
	usageSlots        []slot                   // the attributes that are counts of tokens or a cost
	// The members of metadata that each count of tokens is written to.
	countFields [countKinds][]target
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

// knownSlots are the attributes that code asks for by itself, and not by a rule. A field that is a slot is one
// attribute; a list is asked in its order.
type knownSlots struct {
	systemInstructions        slot
	invocation                slot
	inputMime, outputMime     slot
	inputValue, rawOutput     slot
	entityInput, entityOutput slot
	conversationID            slot
	toolCallID                slot
	keptSlots                 []slot // of keptNames
	genAISystems              []slot
	// Langfuse's level of an observation, and its message of a failure.
	observationLevel, observationMessage slot
	spanType, pendingParent              slot // Logfire: see pending
	agentOpsKind                         slot
	systemName                           []slot
	callerMetadata                       slot // OpenInference's JSON object of the caller's own metadata
}

// findKnownSlots looks up the known slots, after the rules have named their attributes. It panics at a name that no
// rule, kind or list mentions, so that a typing error here does not go unnoticed. Three attributes are read by code
// alone and get their slots here.
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
		invocation:         at("llm.invocation_parameters"),
		agentOpsKind:       at("agentops.span.kind"),
		inputMime:          at("input.mime_type"),
		outputMime:         at("output.mime_type"),
		inputValue:         at("input.value"),
		rawOutput:          at("output.value"),
		entityInput:        at("traceloop.entity.input"),
		entityOutput:       at("traceloop.entity.output"),
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

// compile makes the tables of all rules, kinds and key lists. Slots are numbered by first mention, so the order of the
// steps decides which convention an attribute counts for: that of the rule that mentions it first (see slot).
func compile() *tables {
	t := &tables{names: map[string]slot{}, anyPart: map[string]bool{}, families: map[string]int16{}}
	// The rules come first: they decide which convention a name belongs to.
	for i := range rules {
		r := &rules[i]
		// A rule without roles applies to all.
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
	// A name that only a list has belongs to the convention with its prefix.
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
	for i := range usageRules {
		for _, name := range usageRules[i].from {
			t.usageSlots = append(t.usageSlots, t.slot(name, otelGenAI))
		}
	}
	for _, name := range modelNames {
		t.models = append(t.models, t.slot(name, otelGenAI))
	}
	for _, name := range providerNames {
		t.providers = append(t.providers, t.slot(name, otelGenAI))
	}
	for c := range conventions {
		for _, name := range conventions[c].accounts {
			t.accounts[c] = append(t.accounts[c], t.slot(name, otel))
		}
	}
	t.findKnownSlots()
	t.nameSystems()
	t.nameMembers()
	return t
}

// index notes which attributes call for the next rule, so that a span runs only the rules that
// have something to read. It must be called before the rule is appended: the rule's number is the
// length of the list.
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

// source returns where a rule reads that names name in its from (see rule.from), and gives new attributes and
// families their numbers: "@messages" stands for the span's events, "p.N" for an indexed family, "p.*" for an
// open one, and anything else for an attribute.
func (t *tables) source(name string, by convention) ruleSource {
	if name == "@messages" {
		return ruleSource{slot: -1, fam: -1, events: true}
	}
	prefix, kind := name[:max(len(name)-2, 0)], name[max(len(name)-2, 0):]
	if kind != ".N" && kind != ".*" {
		return ruleSource{slot: t.slot(name, by), fam: -1}
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
	s := ruleSource{slot: -1, fam: id}
	if kind == ".*" {
		s.slot = t.slot(prefix, by)
	}
	return s
}

// slot returns the number of an attribute's name, and numbers it if it is new. by is the convention
// that mentions it.
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
