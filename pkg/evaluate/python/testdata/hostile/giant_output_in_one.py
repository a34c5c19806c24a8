# want: output
def f(event):
    print('x' * 5_000_000)
    return 1
