package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
)

// printTable prints the results, a column a server. Ratios are to the first one. The
// error tells of servers that failed or lost what they had acknowledged.
func printTable(w io.Writer, rs []*Result) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, cell func(r *Result) string) {
		fmt.Fprint(tw, name, "\t")
		for _, r := range rs {
			fmt.Fprint(tw, cell(r), "\t")
		}
		fmt.Fprintln(tw)
	}
	num := func(name, format string, value func(r *Result) float64) {
		row(name, func(r *Result) string {
			if v := value(r); v != 0 && r.Load != nil {
				return fmt.Sprintf(format, v)
			}
			return "-"
		})
	}
	of := func(part, whole float64) float64 {
		if whole == 0 {
			return 0
		}
		return part / whole
	}
	rate := func(r *Result) float64 { return r.Rate }
	cpu := func(r *Result) float64 { return r.CPUPer100k }
	row("", func(r *Result) string { return r.Name })
	num("spans/s acknowledged and readable", "%.0f", rate)
	num("  of the first", "%.2f", func(r *Result) float64 { return of(rate(r), rate(rs[0])) })
	num("request p50, ms", "%.1f", func(r *Result) float64 { return r.Load.P50 })
	num("request p99, ms", "%.1f", func(r *Result) float64 { return r.Load.P99 })
	num("server CPU s per 100,000 spans", "%.2f", cpu)
	num("  of the first", "%.2f", func(r *Result) float64 { return of(cpu(r), cpu(rs[0])) })
	num("idle memory, MB (PSS)", "%.0f", func(r *Result) float64 { return float64(r.IdlePSS) / 1e6 })
	num("peak memory, MB (PSS)", "%.0f", func(r *Result) float64 { return float64(r.PeakPSS) / 1e6 })
	num("disk bytes per span", "%.0f", func(r *Result) float64 { return r.DiskPerSpan })
	num("write-ahead log, MB", "%.0f", func(r *Result) float64 { return float64(r.WALBytes) / 1e6 })
	num("first start, s", "%.2f", func(r *Result) float64 { return r.ColdStart })
	num("restart with the data, s", "%.2f", func(r *Result) float64 { return r.Restart })
	names := map[string]bool{}
	for _, r := range rs {
		for _, q := range r.Queries {
			if names[q.Name] {
				continue
			}
			names[q.Name] = true
			row(q.Name+" p50, ms", func(r *Result) string {
				for _, have := range r.Queries {
					switch {
					case have.Name != q.Name:
					case have.Err != "":
						return "failed"
					default:
						return fmt.Sprintf("%.1f (%d)", have.P50, have.Items)
					}
				}
				return "-"
			})
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "In brackets: the events in the last answer.")
	var errs []error
	for _, r := range rs {
		if err := r.check(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.Name, err))
		}
	}
	return errors.Join(errs...)
}

// check tells what was wrong with a run, whatever its speed.
func (r *Result) check() error {
	switch {
	case r.Err != "":
		return errors.New(r.Err)
	case r.Load.Failed+r.Load.Rejected > 0:
		return fmt.Errorf("%d spans failed, %d were rejected: %v", r.Load.Failed, r.Load.Rejected, r.Load.Errors)
	case r.Verify.Lost > 0 || r.Verify.CheckErrors > 0:
		return fmt.Errorf("%d acknowledged spans are missing, %d reads failed: %s", r.Verify.Lost, r.Verify.CheckErrors, r.Verify.FirstError)
	case r.Load.Acked != r.Load.Sent:
		return fmt.Errorf("%d of %d spans acknowledged in time", r.Load.Acked, r.Load.Sent)
	}
	for _, q := range r.Queries {
		if q.Err != "" {
			return fmt.Errorf("query %s: %s", q.Name, q.Err)
		}
		if q.Items == 0 {
			return fmt.Errorf("query %s found nothing", q.Name)
		}
	}
	return nil
}
