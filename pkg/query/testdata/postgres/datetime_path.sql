-- [{"field":"metadata.when","operator":"before","value":"2026-01-02","type":"datetime"}]
TRUE
-- left to Go: metadata.when before
-- reads 1
