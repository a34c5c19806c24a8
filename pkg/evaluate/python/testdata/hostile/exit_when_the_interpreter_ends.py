# want: exception exit timeout
import atexit
import sys

def f(event):
    @atexit.register
    def again():
        while True:
            pass
    sys.exit(1)
