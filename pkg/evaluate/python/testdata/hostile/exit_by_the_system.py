# want: exit
import os

def f(event):
    os._exit(0)
