# want: exception
import os

def f(event):
    return len(os.listdir('/home'))
