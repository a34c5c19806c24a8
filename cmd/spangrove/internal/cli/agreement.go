package cli

// agreement counts how often two judgements of the same things agree, each of them a class.
// Precision, recall and F1 are of one class, the positive one; they are of no use for more than
// two classes.
type agreement struct {
	n                         int
	same                      int
	labels, given             map[string]int // by class
	truePos, falsePos, missed int            // of the positive class
}

// add counts a thing with its label and the judgement to be measured.
func (a *agreement) add(label, given, positive string) {
	if a.labels == nil {
		a.labels, a.given = map[string]int{}, map[string]int{}
	}
	a.n++
	a.labels[label]++
	a.given[given]++
	if label == given {
		a.same++
	}
	switch {
	case label == positive && given == positive:
		a.truePos++
	case given == positive:
		a.falsePos++
	case label == positive:
		a.missed++
	}
}

// part returns a of b, or nil if b is 0: it is not defined then.
func part(a, b int) *float64 {
	if b == 0 {
		return nil
	}
	f := float64(a) / float64(b)
	return &f
}

func (a *agreement) accuracy() *float64  { return part(a.same, a.n) }
func (a *agreement) precision() *float64 { return part(a.truePos, a.truePos+a.falsePos) }
func (a *agreement) recall() *float64    { return part(a.truePos, a.truePos+a.missed) }
func (a *agreement) f1() *float64        { return part(2*a.truePos, 2*a.truePos+a.falsePos+a.missed) }

// kappa returns Cohen's kappa: how much of the agreement that chance would not give there is, from -1 to 1.
// Nil where chance would give all of it: both know one class only.
func (a *agreement) kappa() *float64 {
	if a.n == 0 {
		return nil
	}
	byChance := 0 // times n²
	for class, n := range a.labels {
		byChance += n * a.given[class]
	}
	return part(a.n*a.same-byChance, a.n*a.n-byChance)
}
