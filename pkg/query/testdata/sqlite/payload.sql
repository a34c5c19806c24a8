-- [{"field":"outputs.answer","operator":"contains","value":"x"}]
TRUE
-- left to Go: outputs.answer contains
