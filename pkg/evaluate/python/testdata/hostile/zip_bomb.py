# want: memory timeout
import zlib

def f(event):
    bomb = zlib.compress(b'\0' * 20_000_000)
    kept = []
    while True:
        kept.append(zlib.decompress(bomb))
