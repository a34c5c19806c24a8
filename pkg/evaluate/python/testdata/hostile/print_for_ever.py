# want: output
def f(event):
    while True:
        print('x' * 1000)
