# return: float
# call: f(event)
from itertools import pairwise

def f(event):
    pairs = list(pairwise(event['outputs'].get('content', '').split()))
    return 1 - len(set(pairs)) / len(pairs)
