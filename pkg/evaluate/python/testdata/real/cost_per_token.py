# return: float
# call: f(event)
def f(event):
    m = event['metadata']
    return m['cost'] / m['total_tokens']
