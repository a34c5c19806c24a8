# want: timeout exception
import select

def f(event):
    select.select([], [], [], 3600)
