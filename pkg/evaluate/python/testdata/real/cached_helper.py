# return: float
# call: f(event)
from functools import lru_cache

@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def f(event):
    return fib(len(event['outputs'].get('content', '')) % 60)
