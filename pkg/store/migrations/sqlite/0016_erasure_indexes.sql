-- +goose Up
-- Statements write keys of JSON without a dollar sign, and an index serves those that spell it alike.
DROP INDEX ev_judged;
DROP INDEX datapoint_event;
CREATE INDEX ev_judged ON ev(project_id, (metadata ->> 'target_event_id')) WHERE source = 'evaluator';
CREATE INDEX datapoint_event ON datapoint(project_id, lower(doc ->> 'linked_event')) WHERE doc ->> 'linked_event' IS NOT NULL;
