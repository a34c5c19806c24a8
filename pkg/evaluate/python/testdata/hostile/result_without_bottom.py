# want: recursion
def f(event):
    bottom = []
    for _ in range(200_000):
        bottom = [bottom]
    return [bottom]
