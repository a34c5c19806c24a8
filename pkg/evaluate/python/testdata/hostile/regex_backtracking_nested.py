# want: timeout
import re

def f(event):
    return bool(re.search(r'(x*)*y' , 'x' * 5000 + 'z'))
