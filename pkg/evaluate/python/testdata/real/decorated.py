# return: float
# call: f(event)
import functools

def clamped(g):
    @functools.wraps(g)
    def inner(*args, **kwargs):
        return max(0, min(1, g(*args, **kwargs)))
    return inner

@clamped
def f(event):
    return len(event['outputs'].get('content', '')) / 50
