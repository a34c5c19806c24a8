# return: boolean
# call: f(event)
import json

def f(event):
    for call in event['outputs'].get('tool_calls') or []:
        if not isinstance(json.loads(call['function']['arguments']), dict):
            return False
    return True
