# want: timeout
def f(event):
    while True:
        pass
