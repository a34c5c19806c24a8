# want: timeout
import sys

def g():
    pass

def trace(*a):
    while True:
        pass

def f(event):
    sys.settrace(trace)
    g()
    return 1
