# want: timeout
def f(event):
    return 9 ** 9 ** 9
