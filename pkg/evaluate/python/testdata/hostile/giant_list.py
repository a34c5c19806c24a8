# want: memory
def f(event):
    return len([0] * 10 ** 9)
