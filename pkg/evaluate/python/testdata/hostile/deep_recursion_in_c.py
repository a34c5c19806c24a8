# want: recursion memory timeout exit
import sys

sys.setrecursionlimit(2 ** 30)

class A:
    def __getattr__(self, name):
        return getattr(self, name + 'x')

def f(event):
    return A().x
