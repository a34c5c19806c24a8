# want: timeout exception
import threading

def f(event):
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
