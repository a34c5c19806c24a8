-- [{"any":[[{"field":"event_type","operator":"is","value":"session"},{"field":"inputs.q","operator":"contains","value":"x"}],[{"field":"metadata.cost","operator":"is","value":"1"}]]}]
TRUE
-- left to Go: any of 2 lists
-- reads 10000001
