-- [{"field":"source","operator":"is","value":"x"},{"field":"text","operator":"contains","value":"refund"}]
e.source = $1
-- 1: string x
-- left to Go: text contains
-- reads 100000
