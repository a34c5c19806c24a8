# return: float
# call: f(event)
def f(event):
    print('looking at', event.get('event_name'))
    return 0.5
