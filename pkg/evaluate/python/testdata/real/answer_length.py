# return: float
# call: f(event)
def f(event):
    return len(event['outputs'].get('content', ''))
