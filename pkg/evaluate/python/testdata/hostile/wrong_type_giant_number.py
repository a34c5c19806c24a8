# want: result_type exception
def f(event):
    return 10 ** 1000
