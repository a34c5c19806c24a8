# return: float
# call: float(f(event))
from fractions import Fraction

def f(event):
    text = event['outputs'].get('content', '')
    return Fraction(sum(c.isupper() for c in text), len(text) or 1)
