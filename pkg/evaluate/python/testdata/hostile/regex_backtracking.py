# want: timeout
import re

def f(event):
    return bool(re.match(r'(a+)+$', 'a' * 40 + 'b'))
