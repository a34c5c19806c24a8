# want: result_type
import os

def f(event):
    for fd in range(10):
        try:
            os.close(fd)
        except OSError:
            pass
    return "still heard"
