# return: boolean
# call: f(event)
import re

EMAIL = re.compile(r'[\w.+-]+@[\w-]+\.[\w.]+')

def f(event):
    return bool(EMAIL.search(event['outputs'].get('content', '')))
