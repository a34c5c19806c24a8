# return: boolean
# call: check(event)
def check(e):
    return e['event_type'] == 'model'

check(event)
