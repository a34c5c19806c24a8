# want: import
import ctypes

def f(event):
    return ctypes.CDLL(None).getpid()
