# want: memory
def f(event):
    return len(f"{1:999999999}")
