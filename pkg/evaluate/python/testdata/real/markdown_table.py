# return: boolean
# call: f(event)
def f(event):
    lines = [l.strip() for l in event['outputs'].get('content', '').splitlines()]
    return any(l.startswith('|') and l.endswith('|') for l in lines)
