-- Times more than a year before this migration share one partition, so that nobody makes many of them
-- by what he sends: partitions of four weeks are for later times only. Those of earlier times are
-- taken together, each in a transaction of its own, since each takes its locks. What broke off goes on.
-- +goose NO TRANSACTION
-- +goose Up
-- +goose StatementBegin
DO $$
DECLARE
  days  CONSTANT integer := 28;
  first integer;
  tab   text;
  part  text;
BEGIN
  INSERT INTO setting(name, value) VALUES ('archive_before', ((floor(extract(epoch FROM now()) / 86400 / days)::integer - 13) * days)::text)
    ON CONFLICT DO NOTHING;
  SELECT value::integer INTO first FROM setting WHERE name = 'archive_before';
  COMMIT;
  FOREACH tab IN ARRAY ARRAY['chunk', 'ev'] LOOP
    IF to_regclass(tab || '_archive') IS NULL THEN
      EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', tab || '_archive', tab);
      COMMIT;
    END IF;
    LOOP
      SELECT c.relname INTO part FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = tab::regclass AND c.relname ~ ('^' || tab || '_d[0-9]+$') AND substr(c.relname, length(tab) + 3)::integer < first LIMIT 1;
      EXIT WHEN part IS NULL;
      EXECUTE format('INSERT INTO %I SELECT * FROM %I', tab || '_archive', part);
      EXECUTE format('DROP TABLE %I', part);
      COMMIT;
    END LOOP;
    IF NOT EXISTS (SELECT 1 FROM pg_inherits WHERE inhrelid = to_regclass(tab || '_archive')) THEN
      EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%s)', tab, tab || '_archive', first);
    END IF;
    COMMIT;
  END LOOP;
END
$$;
-- +goose StatementEnd
