# want: result_type
def f(event):
    while True:
        yield 1
