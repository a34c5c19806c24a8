# return: float
# call: f(event)
import unicodedata

def f(event):
    text = unicodedata.normalize('NFD', event['outputs'].get('content', ''))
    return sum(unicodedata.category(c) == 'Mn' for c in text)
