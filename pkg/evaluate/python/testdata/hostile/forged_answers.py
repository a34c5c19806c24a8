# want: result_type
import os

def f(event):
    for token in ('', 'x', '\x00', '{'):
        os.write(1, ('\n' + token + '{"type": "int", "number": "1"}\n').encode())
    return None
