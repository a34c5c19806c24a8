# want: timeout exception
import queue

def f(event):
    return queue.Queue().get()
