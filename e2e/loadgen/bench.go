package main

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// Result is what one server showed.
type Result struct {
	Name        string
	When        time.Time
	N           int
	Load        *LoadResult
	Verify      *VerifyResult
	Queries     []QueryResult
	Rate        float64 `json:"spans_per_s"`           // acknowledged over the time until all could be read
	CPUPer100k  float64 `json:"server_cpu_s_per_100k"` // the whole process tree, until it was idle again
	ColdStart   float64 `json:"cold_start_s"`
	Restart     float64 `json:"restart_s"`
	IdlePSS     int64   `json:"idle_pss_bytes"`
	PeakPSS     int64   `json:"peak_pss_bytes"`
	DiskPerSpan float64 `json:"disk_bytes_per_span"`
	WALBytes    int64   `json:"wal_bytes"`
	Err         string  `json:",omitempty"`
}

type benchArgs struct {
	n, senders, batch, big int
	maxCheck, reps         int
	seed                   uint64
	interleave, gzip       bool
	root                   string
	visible, settle        time.Duration
}

const (
	verifyReaders = 4
	queryTime     = 10 * time.Second // longest time for all repeats of one query
)

// baseTime is when the load's hour begins: it ends just before now.
func baseTime() time.Time { return time.Now().Add(-70 * time.Minute).Truncate(time.Minute) }

// run starts a server with an empty store, loads it, checks it, asks it, and
// restarts it on what it stored.
func run(ctx context.Context, s *ServerSpec, a *benchArgs) *Result {
	res := &Result{Name: s.Name, When: time.Now(), N: a.n}
	if err := measureServer(ctx, s, a, res); err != nil {
		res.Err = err.Error()
	}
	return res
}

// openDir makes the folder of a server, if it is not there, below root. Servers may run as another user.
func openDir(root, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, d := range []string{root, dir} {
		if err := os.Chmod(d, 0o777); err != nil {
			return err
		}
	}
	return nil
}

func measureServer(ctx context.Context, s *ServerSpec, a *benchArgs, res *Result) error {
	dir := filepath.Join(a.root, s.Name)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := openDir(a.root, dir); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sv := &testedServer{spec: s, dir: dir, log: filepath.Join(a.root, s.Name+".log")}
	if err := sv.prepare(); err != nil {
		return err
	}
	defer sv.stop()
	var err error
	if res.ColdStart, err = sv.start(); err != nil {
		return err
	}
	var data []string
	for _, d := range s.Data {
		data = append(data, sv.expand(d))
	}
	ask := newQueryAPI(s.Query, s.Token)
	g := NewSpanGenerator(a.seed, a.n, a.big, baseTime(), time.Hour, "default")
	time.Sleep(500 * time.Millisecond) // until the start is digested
	res.IdlePSS = measureProcesses(sv.pids(), true).PSS
	disk, cpu := diskUsage(data, s.WALDirs...), measureProcesses(sv.pids(), false).CPU
	memory := sampleMemory(sv.pids())
	res.Load, err = Load(ctx, g, LoadOpts{Mode: s.Mode, Endpoint: s.Addr, Token: s.Token, Senders: a.senders, Batch: a.batch,
		Interleave: a.interleave, Gzip: a.gzip, Retries: 50, MaxTime: time.Duration(s.MaxLoadSeconds * float64(time.Second))})
	if err != nil {
		memory.stop()
		return err
	}
	total := float64(res.Load.Acked) + float64(g.Big)
	res.Verify = Verify(ctx, ask, g, verifyOpts{
		acked: res.Load.ackedBy, lastAck: res.Load.LastAck, timeout: a.visible, maxCheck: a.maxCheck, readers: verifyReaders,
		onVisible: func() {
			time.Sleep(a.settle)
			res.CPUPer100k = (measureProcesses(sv.pids(), false).CPU - cpu) / total * 1e5
			res.PeakPSS = memory.stop()
		},
	})
	switch {
	case ask.none():
		res.Rate = res.Load.Rate
	case res.Verify.Visible >= 0:
		res.Rate = float64(res.Load.Acked) / (res.Load.Seconds + res.Verify.Visible)
	}
	res.DiskPerSpan = float64(diskUsage(data, s.WALDirs...)-disk) / total
	for _, p := range data {
		for _, d := range s.WALDirs {
			res.WALBytes += diskUsage([]string{filepath.Join(p, d)})
		}
	}
	if !ask.none() {
		res.Queries = Queries(ctx, ask, g, a.reps, queryTime)
	}
	sv.stopOwn()
	res.Restart, err = sv.start()
	return err
}
