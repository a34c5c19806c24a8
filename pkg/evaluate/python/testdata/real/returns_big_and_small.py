# return: float
# call: f(event)
def f(event):
    n = len(event['outputs'].get('content', ''))
    return float(f'1e{n % 40 - 20}')
