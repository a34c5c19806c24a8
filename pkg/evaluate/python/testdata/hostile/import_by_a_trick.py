# want: import
def f(event):
    return __import__('c' + 'types').CDLL(None).getpid()
