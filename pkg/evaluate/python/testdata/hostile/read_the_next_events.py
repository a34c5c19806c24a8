# want: exception
import os

def f(event):
    data = os.read(0, 1_000_000)
    assert not data, 'another event'
    return input()
