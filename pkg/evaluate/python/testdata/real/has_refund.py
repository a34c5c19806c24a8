# return: boolean
# call: f(event)
def f(event):
    return 'refund' in event['outputs'].get('content', '').lower()
