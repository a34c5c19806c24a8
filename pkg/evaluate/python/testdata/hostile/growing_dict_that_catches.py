# want: memory timeout
def f(event):
    kept = {}
    while True:
        try:
            kept[len(kept)] = bytearray(100_000)
        except MemoryError:
            pass
