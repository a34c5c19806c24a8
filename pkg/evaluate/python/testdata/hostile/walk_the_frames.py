# want: exception
import sys

def f(event):
    frame = sys._getframe()
    while frame.f_back:
        frame = frame.f_back
    return frame.f_builtins['open']('/etc/passwd').read()
