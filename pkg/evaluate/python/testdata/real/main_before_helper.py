# return: float
# call: f(event)
def f(event):
    return size(event) * 2

def size(event):
    return len(event['outputs'])
