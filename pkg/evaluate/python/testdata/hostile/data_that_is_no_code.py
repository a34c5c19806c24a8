# want: exception exit memory recursion
import marshal

def f(event):
    return marshal.loads(b"[" + (1 << 30).to_bytes(4, "little") + b"(" * 100_000)
