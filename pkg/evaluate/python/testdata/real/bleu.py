# return: float
# call: f(event)
import math
from collections import Counter

def grams(words, n):
    return Counter(tuple(words[i:i + n]) for i in range(len(words) - n + 1))

def f(event):
    a = event['outputs'].get('content', '').split()
    b = (event['feedback'].get('ground_truth') or '').split()
    if not a or not b:
        return 0.0
    logs = 0.0
    for n in (1, 2):
        got, want = grams(a, n), grams(b, n)
        logs += math.log((sum((got & want).values()) + 1) / (sum(got.values()) + 1)) / 2
    return round(min(1, math.exp(1 - len(b) / len(a))) * math.exp(logs), 9)
