# return: string
# call: f(event)
import hashlib

def f(event):
    return hashlib.sha256(event['outputs'].get('content', '').encode()).hexdigest()[:12]
