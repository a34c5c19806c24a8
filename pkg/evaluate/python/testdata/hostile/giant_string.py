# want: memory
def f(event):
    return len('a' * 10 ** 9)
