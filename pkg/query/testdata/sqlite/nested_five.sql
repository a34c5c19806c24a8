-- [{"field":"metadata.a.b.c.d.e","operator":"is","value":"x"}]
TRUE
-- left to Go: metadata.a.b.c.d.e is
-- reads 1
