# want: timeout
import itertools

def f(event):
    return sum(itertools.count())
