-- +goose Up
-- Sessions of judges by the event that they judged, and datapoints by the event of which they were
-- made, for what is deleted with it.
CREATE INDEX ev_judged ON ev(project_id, (metadata ->> '$.target_event_id')) WHERE source = 'evaluator';
CREATE INDEX datapoint_event ON datapoint(project_id, lower(doc ->> '$.linked_event')) WHERE doc ->> '$.linked_event' IS NOT NULL;
-- Texts of what was deleted before.
DELETE FROM revision WHERE kind = 'datapoint' AND NOT EXISTS (SELECT 1 FROM datapoint d WHERE d.project_id = revision.project_id AND d.id = revision.id);
UPDATE project SET description = '', type = '' WHERE deleted_ms > 0;
-- Each event counts at most 10^12 tokens, or units of cost, in its session's totals from now on.
UPDATE session SET prompt_tokens = max(min(prompt_tokens, 1e15), -1e15), completion_tokens = max(min(completion_tokens, 1e15), -1e15),
  total_tokens = max(min(total_tokens, 1e15), -1e15), cost = max(min(cost, 1e15), -1e15)
  WHERE abs(prompt_tokens) > 1e15 OR abs(completion_tokens) > 1e15 OR abs(total_tokens) > 1e15 OR abs(cost) > 1e15;
-- What was deleted before may still be in unused parts of the files.
INSERT INTO setting(name, value) SELECT 'erase', '' WHERE EXISTS (SELECT 1 FROM project);
