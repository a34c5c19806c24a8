-- +goose Up
-- Nothing to do: PostgreSQL gathers statistics by itself. Both databases have the same migrations, by which a move sees that their schemas go together.
SELECT 1;
