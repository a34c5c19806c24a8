package cli

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/experiment"
	"github.com/spangrove/spangrove/pkg/metric"
)

// summary is what an evaluation of a program came to.
type summary struct {
	*evalRun
	verdicts   []verdict
	failed     int      // datapoints whose program did
	reasons    []string // why it did not pass, empty if it did
	comparison *client.RunComparison
}

// verdict is what a metric came to.
type verdict struct {
	metric, event          string
	aggregate              *float64 // nil: there are no numbers
	rule                   metric.Threshold
	passed, failed, absent int    // datapoints; those whose evaluator failed are absent
	bad                    string // why it does not meet its rule, empty if it does
}

func (e *evalRun) summary() *summary {
	s := &summary{evalRun: e}
	for _, d := range e.result.Datapoints {
		if d.Err != nil {
			s.failed++
		}
	}
	if s.failed > 0 {
		s.reasons = append(s.reasons, fmt.Sprintf("the program failed for %d of %d datapoints", s.failed, len(e.result.Datapoints)))
	}
	for _, j := range e.scorers {
		v := verdict{metric: j.name, event: evalStep, rule: e.rule(j.name)}
		for _, d := range e.result.Datapoints {
			if d.EvaluatorErrs[j.name] != nil {
				v.absent++
			}
			switch passes, says := e.passes(j.name, d); {
			case says && passes:
				v.passed++
			case says:
				v.failed++
			}
		}
		if v.absent > 0 {
			s.reasons = append(s.reasons, fmt.Sprintf("%s has no score of %d datapoints", clean(j.name), v.absent))
		}
		if m := e.detail(j.name); m != nil {
			v.aggregate = m.Aggregate
		} else if v.failed > 0 {
			v.bad = fmt.Sprintf("%s: %d of its texts do not pass", clean(j.name), v.failed)
		}
		s.add(v)
	}
	// What the program's own spans have of metrics that --min and --max name.
	for i := range e.result.Scores.Metrics.Details {
		m := &e.result.Scores.Metrics.Details[i]
		if _, asked := e.ranges[m.MetricName]; asked && e.detail(m.MetricName) == nil {
			s.add(verdict{metric: m.MetricName, event: m.EventName, aggregate: m.Aggregate, rule: e.rule(m.MetricName),
				passed: len(m.Datapoints.Passed), failed: len(m.Datapoints.Failed)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.ranges)) {
		if !slices.ContainsFunc(s.verdicts, func(v verdict) bool { return v.metric == name }) {
			s.add(verdict{metric: name, rule: e.rule(name)})
		}
	}
	slices.Sort(s.reasons)
	return s
}

// add holds an aggregate against its rule.
func (s *summary) add(v verdict) {
	_, asked := s.ranges[v.metric]
	switch {
	case v.aggregate != nil:
		text, _ := json.Marshal(*v.aggregate) // it came as JSON
		if passes, says := v.rule.Passes(text); says && !passes {
			v.bad = fmt.Sprintf("%s is %s, not %s", clean(v.metric), decimal(v.aggregate), v.rule)
		}
	case asked && v.bad == "":
		v.bad = clean(v.metric) + " has a rule and no values"
	}
	if v.bad != "" {
		s.reasons = append(s.reasons, v.bad)
	}
	s.verdicts = append(s.verdicts, v)
}

// rule returns which values of a metric pass.
func (e *evalRun) rule(name string) metric.Threshold {
	if r, ok := e.ranges[name]; ok {
		return metric.Threshold{Min: r.Min, Max: r.Max}
	}
	for _, j := range e.scorers {
		if j.name == name {
			return j.rule
		}
	}
	return metric.Threshold{}
}

// passes holds the score of a datapoint against its rule; says is false if that says nothing of it.
func (e *evalRun) passes(name string, d experiment.DatapointResult) (passes, says bool) {
	score, ok := d.Scores[name]
	if !ok {
		return false, false
	}
	return e.rule(name).Passes(scoreJSON(score))
}

func scoreJSON(s experiment.Score) json.RawMessage {
	text, err := json.Marshal(s.Value)
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}

// detail returns what the server says of a metric of the program's step, or nil if it has no values.
func (e *evalRun) detail(name string) *client.MetricResult {
	details := e.result.Scores.Metrics.Details
	i := slices.IndexFunc(details, func(m client.MetricResult) bool {
		return m.MetricName == name && m.EventName == evalStep
	})
	if i < 0 {
		return nil
	}
	return &details[i]
}

func (s *summary) counts() string {
	n := len(s.result.Datapoints)
	text := fmt.Sprintf("%d datapoints in %s", n, s.took.Round(1e7))
	if s.failed > 0 {
		text += fmt.Sprintf(", %d failed", s.failed)
	}
	return text
}

// says returns a verdict in a word.
func (v *verdict) says() string {
	switch {
	case v.bad != "":
		return "failed"
	case v.rule.String() != "" && (v.aggregate != nil || v.passed > 0):
		return "passed"
	}
	return "-"
}

func (s *summary) aggregate() string {
	return s.result.Scores.Metrics.Aggregation
}

func (s *summary) show(o *output) error {
	t := table{columns: []column{
		{title: "metric"},
		{title: "event"},
		{title: s.aggregate(), right: true},
		{title: "passes"},
		{title: "verdict"},
		{title: "passed", right: true},
		{title: "failed", right: true},
		{title: "no score", right: true},
	}}
	for i := range s.verdicts {
		v := &s.verdicts[i]
		t.rows = append(t.rows, []string{clean(v.metric), cellText(v.event), decimal(v.aggregate), cellText(v.rule.String()), v.says(),
			strconv.Itoa(v.passed), strconv.Itoa(v.failed), strconv.Itoa(v.absent)})
	}
	if err := t.write(o); err != nil || s.comparison == nil {
		return err
	}
	if _, err := io.WriteString(o.results, "\n"); err != nil {
		return err
	}
	return s.app.showComparison(s.comparison)
}

// problems returns what is wrong with a datapoint: failures are scores that do not pass, broken is why
// there are no outputs or no score.
func (s *summary) problems(d experiment.DatapointResult) (failures, broken []string) {
	if d.Err != nil {
		broken = append(broken, oneLine(d.Err.Error()))
	}
	for _, j := range s.scorers {
		if err := d.EvaluatorErrs[j.name]; err != nil {
			broken = append(broken, j.name+": "+oneLine(err.Error()))
		}
		if passes, says := s.passes(j.name, d); says && !passes {
			text := fmt.Sprintf("%s is %s, not %s", j.name, scoreJSON(d.Scores[j.name]), s.rule(j.name))
			if why := oneLine(withoutThreshold(d.Scores[j.name].Explanation, j.rule)); why != "" {
				text += ": " + why
			}
			failures = append(failures, text)
		}
	}
	return failures, broken
}

// withoutThreshold takes out of an explanation what the server says of the metric's own threshold: the rule that counts, which may be
// another one, stands before the explanation.
func withoutThreshold(explanation string, threshold metric.Threshold) string {
	for _, verb := range []string{"does not pass", "passes"} {
		explanation = strings.Replace(explanation, fmt.Sprintf(" It %s the threshold: %s.", verb, threshold), "", 1)
	}
	return explanation
}

// brief returns a value in one line that is so wide at most: a text as it is, also where it is all that an object has, the members of
// other objects behind their names, and anything else as JSON.
func brief(value any, width int) string {
	if raw, ok := value.(json.RawMessage); ok {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if d.Decode(&value) != nil {
			return ""
		}
	}
	members, ok := value.(map[string]any)
	if !ok {
		return shorten(clean(plainText(value)), width)
	}
	var line string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if uniseg.StringWidth(line) > width {
			break
		}
		if line != "" {
			line += ", "
		}
		if _, isText := members[name].(string); !isText || len(members) > 1 {
			line += clean(name) + ": "
		}
		line += shorten(clean(plainText(members[name])), width)
	}
	return shorten(line, width)
}

// plainText returns the beginning of a text, or of the JSON of anything else: more than is shown, and quick to measure.
func plainText(value any) string {
	text, ok := value.(string)
	if !ok && value != nil {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if e.Encode(value) == nil {
			text = b.String()
		}
	}
	const most = 4096 // bytes
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// How much of a datapoint is shown: in the name of a test, in a cell of a table, and in the text of a failure.
const (
	nameWidth    = 80
	cellWidth    = 120
	failureWidth = 500
)

// testName returns the name of a datapoint's test case: what goes in, for people, and the id, since several may have the same inputs.
func testName(d experiment.DatapointResult) string {
	if inputs := brief(d.Datapoint.Inputs, nameWidth); inputs != "" {
		return inputs + " [" + d.ID + "]"
	}
	return d.ID
}

// details returns what went in and came out of a datapoint, a line each.
func details(d experiment.DatapointResult) string {
	var b strings.Builder
	for _, part := range []struct {
		name  string
		value any
	}{{"inputs", d.Datapoint.Inputs}, {"expected", d.Datapoint.GroundTruth}, {"answer", d.Outputs}} {
		if text := brief(part.value, failureWidth); text != "" {
			fmt.Fprintf(&b, "\n%s: %s", part.name, text)
		}
	}
	return b.String()
}

// The elements of JUnit's files, as build servers read them.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Time       string          `xml:"time,attr"`
		Properties []junitProperty `xml:"properties>property,omitempty"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	switch {
	case c.Error != nil:
		s.Errors++
	case c.Failure != nil:
		s.Failures++
	}
	s.Cases = append(s.Cases, c)
}

func problem(kind string, lines []string) *junitProblem {
	if len(lines) == 0 {
		return nil
	}
	return &junitProblem{lines[0], kind, strings.Join(lines, "\n")}
}

// junit has a suite of the datapoints, and one of the metrics over all of them.
func (s *summary) junit() []byte {
	server := s.api.Server()
	if s.options.local {
		server = "local" // its address means nothing any more
	}
	points := junitSuite{Name: s.result.Name, Time: strconv.FormatFloat(s.took.Seconds(), 'f', 3, 64),
		Properties: []junitProperty{{"run_id", s.run}, {"dataset_id", s.result.DatasetID}, {"server", server}}}
	for _, d := range s.result.Datapoints {
		failures, broken := s.problems(d)
		c := junitCase{Class: s.result.Name, Name: testName(d), Time: strconv.FormatFloat(d.Duration.Seconds(), 'f', 3, 64)}
		if c.Error = problem("error", broken); c.Error == nil {
			c.Failure = problem("metric", failures)
		} else if p := new(programError); errors.As(d.Err, &p) {
			c.Error.Text += "\n" + strings.TrimRight(p.complaint, "\n")
		}
		for _, p := range []*junitProblem{c.Error, c.Failure} {
			if p != nil {
				p.Text += details(d)
			}
		}
		points.add(c)
	}
	metrics := junitSuite{Name: s.result.Name + " metrics", Time: "0.000"}
	for _, v := range s.verdicts {
		c := junitCase{Class: s.result.Name + " metrics", Name: v.metric, Time: "0.000"}
		if v.bad != "" {
			c.Failure = problem("threshold", []string{v.bad})
		}
		metrics.add(c)
	}
	text, err := xml.MarshalIndent(junitSuites{Suites: []junitSuite{points, metrics}}, "", "  ")
	if err != nil { // only of types that cannot be written
		text = []byte("<testsuites></testsuites>")
	}
	return append(append([]byte(xml.Header), text...), '\n')
}

// markdownText makes of a text what Markdown shows as that text, also in a table: names and errors
// come from whoever sends telemetry.
var markdownText = strings.NewReplacer("\\", `\\`, "|", `\|`, "<", "&lt;", "`", "\\`", "](", `]\(`)

// markdown returns a summary for the page of a build or of a change.
func (s *summary) markdown() []byte {
	var b strings.Builder
	line := func(cells ...string) {
		for i := range cells {
			cells[i] = markdownText.Replace(cells[i])
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	outcome := "passed"
	if len(s.reasons) > 0 {
		outcome = "failed"
	}
	fmt.Fprintf(&b, "## %s: %s\n\nRun `%s`: %s.\n\n", markdownText.Replace(clean(s.result.Name)), outcome, s.run, s.counts())
	for _, reason := range s.reasons {
		fmt.Fprintf(&b, "- %s\n", markdownText.Replace(reason))
	}
	if len(s.verdicts) > 0 {
		b.WriteString("\n")
		line("metric", "event", s.aggregate(), "passes", "verdict", "passed", "failed", "no score")
		b.WriteString("|---|---|---:|---|---|---:|---:|---:|\n")
		for i := range s.verdicts {
			v := &s.verdicts[i]
			line(clean(v.metric), cellText(v.event), decimal(v.aggregate), cellText(v.rule.String()), v.says(),
				strconv.Itoa(v.passed), strconv.Itoa(v.failed), strconv.Itoa(v.absent))
		}
	}
	if s.comparison != nil {
		fmt.Fprintf(&b, "\nAgainst %s:\n\n", markdownText.Replace(runName(&s.comparison.OldRun)))
		var titles []string
		for _, c := range comparisonColumns {
			titles = append(titles, c.title)
		}
		line(titles...)
		b.WriteString(strings.Repeat("|---", len(titles)) + "|\n")
		for i := range s.comparison.Metrics {
			line(comparisonRow(&s.comparison.Metrics[i])...)
		}
	}
	const most = 50
	shown, more := 0, 0
	for _, d := range s.result.Datapoints {
		failures, broken := s.problems(d)
		if len(failures)+len(broken) == 0 {
			continue
		}
		if shown == most {
			more++
			continue
		}
		if shown == 0 {
			b.WriteString("\n")
			line("datapoint", "inputs", "expected", "answer", "what is wrong")
			b.WriteString("|---|---|---|---|---|\n")
		}
		shown++
		line(clean(d.ID), cellText(brief(d.Datapoint.Inputs, cellWidth)), cellText(brief(d.Datapoint.GroundTruth, cellWidth)),
			cellText(brief(d.Outputs, cellWidth)), shorten(clean(strings.Join(append(broken, failures...), "; ")), 300))
	}
	if more > 0 {
		fmt.Fprintf(&b, "\nand %d more.\n", more)
	}
	return []byte(b.String())
}

func writeFile(name string, text []byte) error {
	if err := os.WriteFile(name, text, 0o644); err != nil {
		return &Failure{fmt.Sprintf("write %s: %s", name, cause(err)), ExitFailed}
	}
	return nil
}
