# return: float
# call: f(event)
import re
import statistics

def f(event):
    sentences = [s for s in re.split(r'[.!?]+', event['outputs'].get('content', '')) if s.strip()]
    return statistics.mean(len(s.split()) for s in sentences)
