-- [{"field":"metadata.a","operator":"is","value":"x"},{"field":"event_type","operator":"is","value":"none"}]
FALSE
