# return: string
# call: f(event)
def f(event):
    calls = event['outputs'].get('tool_calls') or []
    return ','.join(sorted({c['function']['name'] for c in calls}))
