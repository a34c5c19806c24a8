# want: output
def f(event):
    return {'score': 1, 'explanation': 'x' * 5_000_000}
