# want: memory timeout
def f(event):
    kept = []
    while True:
        kept.append('x' * 1_000_000)
