# want: timeout
import time

def f(event):
    time.sleep(3600)
