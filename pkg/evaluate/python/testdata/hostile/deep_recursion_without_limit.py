# want: recursion memory timeout exit
import sys

sys.setrecursionlimit(2 ** 30)

def f(event):
    return f(event) + 1
