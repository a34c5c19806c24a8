package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// cell returns how a question was answered, for a table.
func (q *ScaleAnswer) cell() string {
	switch {
	case q.Err != "":
		return "wrong: " + q.Err
	case q.Over > 0:
		return fmt.Sprintf("over %.0f s", q.Over/1000)
	}
	return fmt.Sprintf("%.0f / %.1f / %.1f", q.First, q.P50, q.Max)
}

// printScale prints a run as Markdown.
func printScale(w io.Writer, r *ScaleResult) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Machine: %s, %d cores, %.0f GB, Linux %s; load average at the start %s. %s.\n\n", r.Machine.CPU, r.Machine.Cores,
		float64(r.Machine.MemoryBytes)/1e9, r.Machine.Kernel, r.Machine.LoadAverage, r.When.UTC().Format("2006-01-02 15:04 UTC"))
	r.loads(&b)
	for k := 0; k < len(r.Servers); {
		same := k
		for same < len(r.Servers) && r.Servers[same].Events == r.Servers[k].Events {
			same++
		}
		r.questions(&b, r.Servers[k:same])
		k = same
	}
	for _, of := range r.byServer() {
		slopes(&b, of)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// loads adds the table of loads; rates are also shown as parts of those of the limits.
func (r *ScaleResult) loads(b *strings.Builder) {
	b.WriteString("| server | events | events/s |")
	line := "|---|---|---|"
	for _, l := range r.Limits {
		fmt.Fprintf(b, " of %s |", l.Name)
		line += "---|"
	}
	b.WriteString(" last tenth / first |" +
		" request p50 / p99, ms | CPU s per 100,000 | peak memory, MB | disk bytes an event |\n" +
		line + "---|---|---|---|---|\n")
	for _, s := range append(r.Limits[:len(r.Limits):len(r.Limits)], r.Servers...) {
		l := s.Load
		if l == nil {
			continue
		}
		fmt.Fprintf(b, "| %s | %d | %.0f |", s.Name, l.Events, l.Rate)
		for _, limit := range r.Limits {
			if limit.Load == nil {
				b.WriteString(" - |")
				continue
			}
			fmt.Fprintf(b, " %.2f |", l.Rate/limit.Load.Rate)
		}
		fmt.Fprintf(b, " %.2f | %.1f / %.1f | %.2f | %.0f | %.0f |\n", l.Slope, l.P50, l.P99, l.CPUPer100k, float64(l.PeakPSS)/1e6, l.Disk)
	}
	b.WriteString("\n")
}

// questions adds the table of the questions to servers with the same number of events.
func (r *ScaleResult) questions(b *strings.Builder, servers []*ScaleServer) {
	fmt.Fprintf(b, "%d events over %d days; each answer was compared with the expected one. In ms: the first time, and p50 / max of the times after it.\n\n", servers[0].Events, r.Days)
	var first []*ScaleAnswer
	head, line := "| question | scan of columns in memory, ms |", "|---|---|"
	for _, s := range servers {
		if first == nil {
			first = s.Questions
		}
		head, line = head+fmt.Sprintf(" %s | of the scan | CPU s |", s.Name), line+"---|---|---|"
		if s.Incoming != nil {
			head, line = head+fmt.Sprintf(" while %.0f events/s come in |", s.Incoming.Rate), line+"---|"
		}
	}
	b.WriteString(head + "\n" + line + "\n")
	for i, q := range first {
		fmt.Fprintf(b, "| %s | %.1f |", q.About, q.Memory)
		for _, s := range servers {
			if i >= len(s.Questions) {
				b.WriteString(" - | - | - |")
				continue
			}
			a := s.Questions[i]
			ratio := "-"
			if a.N > 0 && a.Memory > 0 {
				ratio = fmt.Sprintf("%.1f", a.P50/a.Memory)
			}
			fmt.Fprintf(b, " %s | %s | %.2f |", a.cell(), ratio, a.CPU)
			if s.Incoming != nil {
				fmt.Fprintf(b, " %s |", s.Meanwhile[i].cell())
			}
		}
		b.WriteString("\n")
	}
	for _, s := range servers {
		if s.QuestionPeak > 0 {
			fmt.Fprintf(b, "\nPeak memory of %s while it answered: %.0f MB.\n", s.Name, float64(s.QuestionPeak)/1e6)
		}
		if in := s.Incoming; in != nil {
			fmt.Fprintf(b, "\n%s took %.0f of %.0f events/s meanwhile; requests p50 %.1f, p99 %.1f ms.\n",
				s.Name, in.Rate, in.Wanted, in.P50, in.P99)
		}
	}
	b.WriteString("\n")
}

// byServer returns the results of each server that was measured with several numbers of events, from the fewest on.
func (r *ScaleResult) byServer() (list [][]*ScaleServer) {
	var names []string
	of := map[string][]*ScaleServer{}
	for _, s := range r.Servers {
		if of[s.Name] == nil {
			names = append(names, s.Name)
		}
		of[s.Name] = append(of[s.Name], s)
	}
	for _, name := range names {
		sizes := of[name]
		slices.SortStableFunc(sizes, func(a, b *ScaleServer) int { return a.Events - b.Events })
		if len(sizes) > 1 && sizes[0].Events < sizes[len(sizes)-1].Events {
			list = append(list, sizes)
		}
	}
	return list
}

// slopes adds the table of how the costs of one server grow with the number of events.
func slopes(b *strings.Builder, sizes []*ScaleServer) {
	fewest, most := sizes[0], sizes[len(sizes)-1]
	fmt.Fprintf(b, "How %s grows: CPU seconds to store 100,000 events, and p50 of the questions in ms.\n\n| |", fewest.Name)
	for _, s := range sizes {
		fmt.Fprintf(b, " %d events |", s.Events)
	}
	fmt.Fprintf(b, " %d / %d |\n|---|%s\n", most.Events, fewest.Events, strings.Repeat("---|", len(sizes)+1))
	line := func(name string, digits int, of func(s *ScaleServer) float64) {
		fmt.Fprintf(b, "| %s |", name)
		for _, s := range sizes {
			fmt.Fprintf(b, " %s |", figure(of(s), digits))
		}
		ratio := 0.0
		if from := of(fewest); from > 0 {
			ratio = of(most) / from
		}
		fmt.Fprintf(b, " %s |\n", figure(ratio, 2))
	}
	line("storing", 2, func(s *ScaleServer) float64 {
		if s.Load == nil {
			return 0
		}
		return s.Load.CPUPer100k
	})
	for _, q := range fewest.Questions {
		line(q.About, 1, func(s *ScaleServer) float64 {
			for _, a := range s.Questions {
				if a.Name == q.Name && a.Err == "" && a.Over == 0 {
					return a.P50
				}
			}
			return 0
		})
	}
	b.WriteString("\n")
}

// figure returns a number that was measured, or a dash for one that was not.
func figure(f float64, digits int) string {
	if f <= 0 {
		return "-"
	}
	return strconv.FormatFloat(f, 'f', digits, 64)
}
