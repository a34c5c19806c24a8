# return: string
# call: f(event)
def f(event):
    return event['inputs']['messages'][-1]['role']
