# want: exception
import os

def f(event):
    read = 0
    for fd in range(3, 1000):
        try:
            read += len(os.read(fd, 1000)) + os.write(fd, b"x")
        except OSError:
            pass
    assert read, "nothing"
    return read
