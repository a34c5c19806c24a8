package store

import "context"

// commit is one write transaction, with what it changes beyond the rows that are asked for: all that
// is written before it commits, and published afterwards.
type commit struct {
	s      *Store
	writer int
	writeTx
	bulkTx
	trees  *treeFixer
	fields *fieldIndexUpdate
	outbox *outbox
	counts eventCounts
	put    *writing // the batches
}

// beginCommit begins the transaction of a writer, again if one failed before with the same requests.
func (s *Store) beginCommit(tx writeTx, writer int, again bool) *commit {
	return &commit{
		s:       s,
		writer:  writer,
		writeTx: tx,
		bulkTx:  s.bulk.begin(tx),
		trees:   newTreeFixer(s),
		fields:  newFieldIndexUpdate(s),
		outbox:  newOutbox(s),
		counts:  eventCounts{},
		put:     &writing{s: s, force: again},
	}
}

// insertEvents inserts rows of events, and counts them.
func (c *commit) insertEvents(ctx context.Context, heads []*head) error {
	for _, h := range heads {
		c.counts.add(h.project, h.ev.Type, 1)
		c.counts.stored(h.project, h.bytes())
	}
	return c.insertHeads(ctx, heads)
}

// storeBatches implements transaction.
func (c *commit) storeBatches(ctx context.Context, batches []requestBatch) error {
	list := make([]*writeBatch, len(batches))
	for i, b := range batches {
		list[i] = b.(*writeBatch)
	}
	return c.put.storeBatches(ctx, c, list)
}

// finish implements transaction: it corrects trees, and writes what has come together.
func (c *commit) finish(ctx context.Context) error {
	if err := c.trees.apply(ctx, c); err != nil {
		return err
	}
	if err := c.put.reassignResults(ctx, c); err != nil {
		return err
	}
	if err := c.counts.write(ctx, c, c.writer); err != nil {
		return err
	}
	if err := c.outbox.write(ctx, c); err != nil {
		return err
	}
	return c.fields.write(ctx, c)
}

// publish implements transaction: it updates the caches.
func (c *commit) publish() {
	c.committed()
	c.put.publish()
	c.trees.publish()
	c.fields.publish()
	c.s.usage.committed(c.counts)
}
