# return: float
# call: f(event)
import re

def words(text):
    return set(re.findall(r'\w+', text.lower()))

def f(event):
    a = words(event['outputs'].get('content', ''))
    b = words(event['inputs'].get('question', ''))
    return len(a & b) / max(1, len(a | b))
