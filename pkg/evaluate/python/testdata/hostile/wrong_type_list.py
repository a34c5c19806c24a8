# want: result_type
def f(event):
    return [1, 2, 3]
