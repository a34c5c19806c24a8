-- +goose Up

-- Whether a segment may have text of an event that is not kept any more: the event is gone, a rule of retention has removed its payload (bit 21 of
-- event.spill), or it is the event of a session that showed such text. All that was on record before may be such.
ALTER TABLE segment_stale ADD COLUMN erased boolean NOT NULL DEFAULT false;
UPDATE segment_stale SET erased = true;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION event_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO segment_stale AS s (project_id, seq, day, event_id, gone, erased)
  SELECT c.project_id, c.seq, c.day, c.event_id, false, bool_or(c.erased)
  FROM (
    SELECT n.project_id, n.seq, n.day, n.event_id, (n.spill & 2097152) > (b.spill & 2097152) AS erased
    FROM before AS b
    JOIN segment_progress AS p ON b.seq <= p.marked_seq
    JOIN after AS n ON n.seq = b.seq
    WHERE n.version <> b.version OR n.session_id <> b.session_id
    UNION
    SELECT e.project_id, e.seq, e.day, e.event_id, (n.spill & 2097152) > (b.spill & 2097152)
    FROM before AS b
    CROSS JOIN segment_progress AS p
    JOIN after AS n ON n.seq = b.seq
    JOIN session AS x ON x.project_id = n.project_id AND x.session_id = n.session_id
    JOIN event AS e ON e.event_id = x.session_id AND e.project_id = x.project_id AND e.day = x.event_day AND e.seq <= p.marked_seq
    WHERE n.version <> b.version OR n.session_id <> b.session_id
  ) AS c
  GROUP BY c.project_id, c.seq, c.day, c.event_id
  ORDER BY c.project_id, c.seq
  ON CONFLICT (project_id, seq) DO UPDATE SET changes = s.changes + 1, day = excluded.day, erased = s.erased OR excluded.erased;
  RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION event_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO segment_stale AS s (project_id, seq, day, event_id, gone, erased)
  SELECT b.project_id, b.seq, b.day, b.event_id, true, true
  FROM before AS b
  JOIN segment_progress AS p ON b.seq <= p.marked_seq
  UNION
  SELECT e.project_id, e.seq, e.day, e.event_id, false, true
  FROM before AS b
  CROSS JOIN segment_progress AS p
  JOIN session AS x ON x.project_id = b.project_id AND x.session_id = b.session_id
  JOIN event AS e ON e.event_id = x.session_id AND e.project_id = x.project_id AND e.day = x.event_day AND e.seq <= p.marked_seq
  ORDER BY 1, 2
  ON CONFLICT (project_id, seq) DO UPDATE SET changes = s.changes + 1, gone = s.gone OR excluded.gone, erased = true;
  RETURN NULL;
END $$;
-- +goose StatementEnd
