# return: boolean
# call: f(event)
import math
import re

def number(text):
    m = re.search(r'-?\d+(?:\.\d+)?', text or '')
    return float(m.group()) if m else None

def f(event):
    a, b = number(event['outputs'].get('content')), number(event['feedback'].get('ground_truth'))
    return a is not None and b is not None and math.isclose(a, b, rel_tol=0.01)
