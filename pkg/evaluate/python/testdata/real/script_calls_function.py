# return: float
# call: result
def count(event):
    return event['outputs'].get('content', '').count('e')

result = count(event)
