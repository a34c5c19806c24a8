# want: exit exception timeout memory
def g():
    pass

g.__code__ = g.__code__.replace(co_code=b'\x64\xff' * 100, co_consts=(), co_stacksize=1)

def f(event):
    return g()
