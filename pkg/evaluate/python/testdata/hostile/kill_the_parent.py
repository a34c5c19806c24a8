# want: exception
import os

def f(event):
    os.kill(1, 9)
