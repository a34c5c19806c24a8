# return: boolean
# call: f(event)
import re
from datetime import datetime

def f(event):
    m = re.search(r'\d{4}-\d{2}-\d{2}', event['outputs'].get('content', ''))
    return bool(m) and datetime.strptime(m.group(), '%Y-%m-%d').year >= 2020
