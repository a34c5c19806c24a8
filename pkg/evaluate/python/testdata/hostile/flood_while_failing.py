# want: output
def f(event):
    try:
        return event["nothing"]
    except KeyError:
        while True:
            print("x" * 10_000)
