# want: timeout
import collections
import itertools

def f(event):
    collections.deque(itertools.repeat(0), maxlen=0)
