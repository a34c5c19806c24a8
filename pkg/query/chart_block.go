package query

import (
	"fmt"

	"github.com/spangrove/spangrove/pkg/column"
)

// InColumns reports whether the chart can be summed up over blocks.
func (c *Chart) InColumns() bool {
	return InColumns(c.Filters) && (c.Group == nil || c.Group.InColumns()) && (c.Aggregation == Count || c.Metric.InColumns())
}

// BlockKey identifies what SumBlock makes of a block, but for the events that are found: sums with the same key are the same.
func (a *ChartSums) BlockKey() string {
	metric := ""
	if a.chart.Aggregation != Count {
		metric = a.plan.metric.key()
	}
	return fmt.Sprintf("%s|%v|%v|%v|%q|%q", a.chart.Aggregation, a.plan.size, a.plan.origin, a.plan.totals, a.groupKey(), metric)
}

// groupKey identifies what the chart's events are split by.
func (a *ChartSums) groupKey() string {
	if a.chart.Group == nil {
		return ""
	}
	return a.chart.Group.key()
}

// Bytes returns about how much memory the sums take.
func (s *BlockSums) Bytes() int {
	size := 100 + 8*len(s.Maybe)
	for i := range s.cells {
		size += 80 + 8*cap(s.cells[i].values)
		if g := s.cells[i].group; g != nil {
			size += len(*g)
		}
	}
	return size
}

// BlockSums are the sums of a chart over the events of a block. They are not changed once they are made.
type BlockSums struct {
	cells []blockCell
	// Maybe are events that must be read and added one by one.
	Maybe column.Set
}

type blockCell struct {
	unit  int64
	group *string
	chartCell
}

// denseCells is how many cells of units and groups of one block stand in an array; more are looked up in a map.
const denseCells = 1 << 16

// SharedBlock is a block over which several charts are summed up: the values of a field are read once, whatever number of charts are of it.
// One goroutine at a time may use it.
type SharedBlock struct {
	Block
	units   map[unitSize][]int64
	texts   map[string]BlockTexts
	numbers map[string]*BlockNumbers
}

// unitSize tells units of time apart.
type unitSize struct{ size, origin float64 }

// Share returns a block to be summed up.
func Share(b Block) *SharedBlock {
	return &SharedBlock{b, map[unitSize][]int64{}, map[string]BlockTexts{}, map[string]*BlockNumbers{}}
}

// made returns what is kept under a key, or else what work returns, which is kept then.
func made[K comparable, V any](kept map[K]V, k K, work func() (V, error)) (V, error) {
	if v, ok := kept[k]; ok {
		return v, nil
	}
	v, err := work()
	if err == nil {
		kept[k] = v
	}
	return v, err
}

// SumBlock sums up the events of a block that a search has found. It changes nothing of a, so that several blocks may be summed up at once.
func (a *ChartSums) SumBlock(b *SharedBlock, found Decided) (*BlockSums, error) {
	sums := &BlockSums{Maybe: found.Maybe}
	if err := a.leaveOutRestored(b, found); err != nil {
		return nil, err
	}
	if err := sums.add(a, b, found.Match); err != nil {
		return nil, err
	}
	if sums.Maybe.Empty() {
		sums.Maybe = nil
	}
	return sums, nil
}

// add sums up the events of a block that match.
func (s *BlockSums) add(a *ChartSums, b *SharedBlock, match column.Set) (err error) {
	if match.Empty() {
		return nil
	}
	groups := BlockTexts{Texts: []*string{nil}}
	if a.chart.Group != nil {
		if groups, err = a.textsOf(b); err != nil {
			return err
		}
		s.leaveOut(match, groups.Maybe)
	}
	var numbers *BlockNumbers
	if a.chart.Aggregation != Count {
		if numbers, err = a.numbersOf(b); err != nil {
			return err
		}
		s.leaveOut(match, numbers.Maybe)
		match.And(numbers.Present)
	}
	first, last := b.Times()
	from, to := a.plan.unitOf(first), a.plan.unitOf(last)
	if from == to && a.chart.Group == nil && numbers == nil {
		if n := match.Count(); n > 0 {
			s.cells = []blockCell{{unit: from, chartCell: chartCell{n: int64(n)}}}
		}
		return nil
	}
	units, err := a.unitsOf(b, from, to)
	if err != nil {
		return err
	}
	s.fill(a, match, units, from, to, &groups, numbers)
	return nil
}

// leaveOutRestored leaves out the events of buckets whose points are known.
func (a *ChartSums) leaveOutRestored(b *SharedBlock, found Decided) error {
	first, last := b.Times()
	from, to := a.plan.unitOf(first), a.plan.unitOf(last)
	known := a.restoredUnits(from, to)
	if known == nil {
		return nil
	}
	units, err := a.unitsOf(b, from, to)
	if err != nil {
		return err
	}
	for row := range b.Len() {
		if units == nil || known[units[row]-from] {
			found.Match.Remove(row)
			found.Maybe.Remove(row)
		}
	}
	return nil
}

// leaveOut moves those of events that match to those that must be read.
func (s *BlockSums) leaveOut(match, maybe column.Set) {
	for i, rows := range maybe {
		rows &= match[i]
		match[i] &^= rows
		s.Maybe[i] |= rows
	}
}

// textsOf returns the texts by which events are split. They must not be changed.
func (a *ChartSums) textsOf(b *SharedBlock) (BlockTexts, error) {
	return made(b.texts, a.groupKey(), func() (BlockTexts, error) { return a.chart.Group.TextsOf(b) })
}

// numbersOf returns the numbers with which events enter, as number does. They must not be changed.
func (a *ChartSums) numbersOf(b *SharedBlock) (*BlockNumbers, error) {
	return made(b.numbers, fmt.Sprint(a.plan.totals, a.plan.metric.key()), func() (*BlockNumbers, error) { return a.readNumbers(b) })
}

func (a *ChartSums) readNumbers(b Block) (*BlockNumbers, error) {
	x, err := a.plan.metric.NumbersOf(b)
	if err != nil {
		return nil, err
	}
	bit := a.plan.metric.c.derivedBit()
	if bit == 0 || a.plan.totals {
		return &x, nil
	}
	derived, err := b.Column(DerivedColumn)
	if err != nil || derived == nil {
		return &x, err
	}
	eachNumber(derived, func(row int, bits float64) {
		if int(bits)&bit != 0 {
			x.Present.Remove(row)
			x.Maybe.Remove(row)
		}
	})
	return &x, nil
}

// unitsOf returns the units of the events' starts; nil if all are in one. They must not be changed.
func (a *ChartSums) unitsOf(b *SharedBlock, from, to int64) ([]int64, error) {
	if from == to {
		return nil, nil
	}
	return made(b.units, unitSize{a.plan.size, a.plan.origin}, func() ([]int64, error) { return a.readUnits(b) })
}

func (a *ChartSums) readUnits(b Block) ([]int64, error) {
	starts, err := b.Column("start_time")
	if err != nil {
		return nil, err
	}
	units := make([]int64, b.Len())
	starts.Numbers(func(first int, values []float64, _ column.Set) {
		for i, f := range values {
			units[first+i] = a.plan.unitOf(f)
		}
	})
	return units, nil
}

// fill sums up the events that match by unit and group.
func (s *BlockSums) fill(a *ChartSums, match column.Set, units []int64, from, to int64, groups *BlockTexts, numbers *BlockNumbers) {
	width := int64(len(groups.Texts))
	var dense []int32 // by unit and group: one more than the cell's place
	if cells := (to - from + 1); cells > 0 && cells <= denseCells && cells*width <= denseCells {
		dense = make([]int32, cells*width)
	}
	sparse := map[int64]int32{}
	var entered []int32 // by event that entered: its cell
	if a.keep {
		entered = make([]int32, 0, match.Count())
	}
	for row := range match.All() {
		unit, code := from, int64(0)
		if units != nil {
			unit = units[row]
		}
		if groups.Codes != nil {
			code = int64(groups.Codes[row])
		}
		at := (unit-from)*width + code
		var place int32
		if dense != nil {
			place = dense[at]
		} else {
			place = sparse[at]
		}
		if place == 0 {
			s.cells = append(s.cells, blockCell{unit: unit, group: groups.Texts[code]})
			place = int32(len(s.cells))
			if dense != nil {
				dense[at] = place
			} else {
				sparse[at] = place
			}
		}
		x := &s.cells[place-1].chartCell
		x.n++
		switch {
		case a.keep:
			entered = append(entered, place-1)
		case numbers != nil:
			x.join(a.how, a.how.bounded(numbers.Values[row]))
		}
	}
	if a.keep {
		s.keepValues(match, entered, numbers.Values)
	}
}

// keepValues gives each cell its values, which stand in one list.
func (s *BlockSums) keepValues(match column.Set, entered []int32, values []float64) {
	all := make([]float64, len(entered))
	for i := range s.cells {
		n := s.cells[i].n
		s.cells[i].values, all = all[:0:n], all[n:]
	}
	i := 0
	for row := range match.All() {
		x := &s.cells[entered[i]]
		x.values = append(x.values, values[row])
		i++
	}
}

// smallBlock is below how many values of a block a cell copies them: a list of its own would take more.
const smallBlock = 32

// AddBlock adds the sums of a block.
func (a *ChartSums) AddBlock(s *BlockSums) error {
	for i := range s.cells {
		cell := &s.cells[i]
		x, err := a.cell(cell.unit, groupOf(cell.group, false))
		if err != nil {
			return err
		}
		x.n += cell.n
		if err := a.keepMore(len(cell.values)); err != nil {
			return err
		}
		if len(cell.values) < smallBlock {
			x.values = append(x.values, cell.values...)
		} else {
			x.blocks = append(x.blocks, cell.values)
		}
		if cell.has {
			x.join(a.how, cell.value)
		}
	}
	return nil
}

// NeedPayload reports whether the metric or the groups of the chart are in the payload.
func (c *Chart) NeedPayload() bool {
	return (c.Group != nil && c.Group.NeedPayload()) || (c.Aggregation != Count && c.Metric.NeedPayload())
}
