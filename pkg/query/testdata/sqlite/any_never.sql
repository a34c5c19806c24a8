-- [{"field":"event_name","operator":"is","value":"x"},{"any":[[{"field":"event_type","operator":"is","value":"none"}],[{"field":"duration","operator":"contains","value":"y"}]]}]
FALSE
