# want: output
import os

def f(event):
    while True:
        try:
            os.write(1, b'x' * 10_000)
        except OSError:
            pass
