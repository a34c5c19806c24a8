# return: string
# call: f(event)
def f(event):
    d = event['duration']
    return 'fast' if d < 500 else 'fair' if d < 2000 else 'slow'
