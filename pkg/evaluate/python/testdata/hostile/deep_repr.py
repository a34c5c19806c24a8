# want: recursion memory exit result_type timeout
def f(event):
    x = []
    for _ in range(1_000_000):
        x = [x]
    return x
