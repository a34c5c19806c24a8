# return: float
# call: f(event)
import json

def f(event):
    try:
        data = json.loads(event['outputs'].get('content', ''))
    except json.JSONDecodeError:
        return 0
    wanted = {'city', 'temperature'}
    return len(wanted & set(data)) / len(wanted) if isinstance(data, dict) else 0
