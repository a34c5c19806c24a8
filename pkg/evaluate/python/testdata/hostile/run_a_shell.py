# want: exception
import os

def f(event):
    return os.system('id')
