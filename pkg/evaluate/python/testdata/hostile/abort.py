# want: exit
import os

def f(event):
    os.abort()
