# want: timeout
import gc

def again(*a):
    while True:
        pass

def f(event):
    gc.callbacks.append(again)
    gc.collect()
    return 1
