# return: boolean
# call: f(event)
import json

def f(event):
    try:
        json.loads(event['outputs'].get('content', ''))
        return True
    except ValueError:
        return False
