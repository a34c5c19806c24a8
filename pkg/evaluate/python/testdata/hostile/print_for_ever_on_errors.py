# want: output
import sys

def f(event):
    while True:
        print('x' * 1000, file=sys.stderr)
