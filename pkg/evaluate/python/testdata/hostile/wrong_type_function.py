# want: result_type
def f(event):
    return lambda: 1
