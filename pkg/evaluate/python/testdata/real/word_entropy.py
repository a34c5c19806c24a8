# return: float
# call: f(event)
import math
from collections import Counter

def f(event):
    words = event['outputs'].get('content', '').split()
    n = len(words)
    return -sum(c / n * math.log2(c / n) for c in sorted(Counter(words).values()))
