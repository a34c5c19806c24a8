-- +goose Up
-- Times of audit entries are Unix microseconds: within a millisecond, what failed is written after
-- what succeeded, and yet listed in the order in which it happened.
ALTER TABLE audit RENAME COLUMN at_ms TO at_us;
UPDATE audit SET at_us = at_us * 1000;
