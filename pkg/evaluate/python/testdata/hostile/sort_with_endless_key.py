# want: timeout
def key(x):
    while True:
        x += 1

def f(event):
    return sorted([3, 1, 2], key=key)
