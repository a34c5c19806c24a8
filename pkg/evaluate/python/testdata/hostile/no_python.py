# want: syntax
def f(event)
    return 1
