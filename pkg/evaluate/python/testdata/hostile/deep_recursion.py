# want: recursion
def f(event):
    return f(event) + 1
