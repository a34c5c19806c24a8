package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/evalqueue"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/resource"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// DefaultSample is how many sessions an examination looks at that is not full.
const DefaultSample = events.DefaultSample

// DoctorOptions say what is looked at, and whether it is mended. The zero value is ready for use.
type DoctorOptions struct {
	// Full looks at everything; else a sample of sessions and of segments is read, and whole tables only while they are small.
	Full bool
	// Sample is how many sessions are looked at if it is not full. Default DefaultSample.
	Sample int
	// Mend puts right what follows from what is stored, and examines again.
	Mend bool
	// Secret is what keys of providers and addresses of webhooks are sealed with; nil: it is not known.
	Secret []byte
	// PendingTTL is that of the server. Default 24 hours.
	PendingTTL time.Duration
	// Progress is told how far the examination is.
	Progress diagnosis.Progress
	Logger   *zap.Logger
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// patientDB is a database with what can be asked of it besides its rows.
type patientDB interface {
	sqldb.DB
	Schema(ctx context.Context) (sqldb.SchemaState, error)
	Checks(full bool) []diagnosis.Check
	CheckObjects(ctx context.Context, r *diagnosis.Recorder) error
	MendObjects(ctx context.Context, change sqldb.Changer) (done string, triggers bool, err error)
}

// patient is what is examined.
type patient struct {
	place   string
	dialect query.Dialect
	// read opens the database to look at it, and write opens the store to change it, without anything in the background.
	read  func(ctx context.Context) (patientDB, events.Bulk, error)
	write func(ctx context.Context, o Options) (*Store, error)
}

// doctor examines, mends if it is to, and examines again what was mended.
func doctor(ctx context.Context, p patient, o DoctorOptions) (*diagnosis.Report, error) {
	if o.Sample == 0 {
		o.Sample = DefaultSample
	}
	if o.PendingTTL == 0 {
		o.PendingTTL = defaultPendingTTL
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx = sqldb.Patiently(ctx)
	began := time.Now()
	report := &diagnosis.Report{Place: p.place, Full: o.Full, Began: o.Now()}
	var err error
	if report.Findings, err = p.examine(ctx, o); err != nil {
		return nil, err
	}
	if wrong := diagnosis.Mendable(report.Findings); o.Mend && len(wrong) > 0 {
		if report.Mended, err = p.mend(ctx, o, wrong); err != nil {
			return nil, err
		}
		if report.Findings, err = p.examine(ctx, o); err != nil {
			return nil, err
		}
	}
	report.Seconds = time.Since(began).Seconds()
	return report, nil
}

// examine runs all checks. What lies in the tables is looked at only if their schema is that of this program.
func (p patient) examine(ctx context.Context, o DoctorOptions) (list []diagnosis.Finding, err error) {
	db, bulk, err := p.read(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close(ctx)) }()
	current := false
	checks := append(db.Checks(o.Full), diagnosis.Check{Name: "schema", Run: func(ctx context.Context, r *diagnosis.Recorder) error {
		schema, err := db.Schema(ctx)
		if err != nil {
			return err
		}
		current = schema.Current()
		r.Add(schema.Finding())
		return nil
	}})
	if list, err = diagnosis.Examine(ctx, checks, o.Progress); err != nil || !current {
		return list, err
	}
	x, err := events.NewExaminer(ctx, db, bulk, p.dialect, events.ExamineOptions{Full: o.Full, Sample: o.Sample, Now: o.Now, PendingTTL: o.PendingTTL})
	if err != nil {
		return append(list, diagnosis.Unseen("store", err)), ctx.Err()
	}
	rest, err := diagnosis.Examine(ctx, slices.Concat(
		[]diagnosis.Check{{Name: sqldb.ObjectsCheck, Run: db.CheckObjects}},
		x.Checks(), evalqueue.Checks(db, o.Now), resource.Checks(db, o.Now, o.Secret)), o.Progress)
	return append(list, rest...), err
}

// mend puts right what the checks of some names found.
func (p patient) mend(ctx context.Context, o DoctorOptions, wrong map[string]bool) (list []diagnosis.Mended, err error) {
	s, err := p.write(ctx, Options{Logger: o.Logger, Now: o.Now, PendingTTL: o.PendingTTL, PackAfter: -1, still: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	objects := diagnosis.Mend{Checks: []string{sqldb.ObjectsCheck}, Run: func(ctx context.Context) (string, error) {
		done, triggers, err := s.db.(patientDB).MendObjects(ctx, s.events.Changer()) //nolint:errcheck // both databases are
		if err == nil && triggers {
			err = s.events.RebuildAll(ctx)
		}
		return done, err
	}}
	for _, m := range slices.Concat([]diagnosis.Mend{objects}, s.events.Mends(), s.evaluations.Mends(), s.resources.Mends()) {
		if !slices.ContainsFunc(m.Checks, func(name string) bool { return wrong[name] }) {
			continue
		}
		if o.Progress != nil {
			o.Progress("mending "+m.Checks[0], 0, 0)
		}
		x := diagnosis.Mended{Check: m.Checks[0]}
		if x.Text, err = m.Run(ctx); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			x.Text, x.Error = "not mended", err.Error()
		}
		list = append(list, x)
	}
	return list, nil
}
