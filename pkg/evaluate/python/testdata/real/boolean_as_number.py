# return: float
# call: int(f(event))
def f(event):
    return event['duration'] > 1000
