# want: exception
def f(event):
    return event['outputs']['no such key']
