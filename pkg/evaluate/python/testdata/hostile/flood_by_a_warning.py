# want: output
import sys

def f(event):
    while True:
        sys.stderr.write("\n" * 1000)
