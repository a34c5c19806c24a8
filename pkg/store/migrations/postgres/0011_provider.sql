-- +goose Up
-- Model providers that projects set up themselves, with their keys sealed; and what calls of all
-- providers cost by UTC day (days since 1970), of those that projects share under project 0.
CREATE TABLE provider (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  doc        json NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE TABLE spending (
  project_id bigint NOT NULL,
  provider   text COLLATE "C" NOT NULL,
  day        bigint NOT NULL,
  usd        double precision NOT NULL,
  calls      bigint NOT NULL,
  PRIMARY KEY (project_id, provider, day)
);
