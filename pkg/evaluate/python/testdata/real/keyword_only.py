# return: boolean
# call: f(outputs=event['outputs'])
def f(*, outputs):
    return bool(outputs.get('content'))
