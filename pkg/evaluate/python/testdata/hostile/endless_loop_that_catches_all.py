# want: timeout
def f(event):
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue
