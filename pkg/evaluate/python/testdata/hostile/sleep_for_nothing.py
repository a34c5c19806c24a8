# want: timeout
import time

def f(event):
    while True:
        time.sleep(0)
