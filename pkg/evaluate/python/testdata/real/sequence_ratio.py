# return: float
# call: f(event)
import difflib

def f(event):
    return difflib.SequenceMatcher(None, event['outputs'].get('content', ''), event['feedback'].get('ground_truth') or '').ratio()
