# want: result_type
def f(event):
    len(event)
