-- [{"field":"metadata.quo\"te","operator":"is","value":"x"}]
TRUE
-- left to Go: metadata.quo"te is
-- reads 1
