# want: exit timeout
import gc
import json
import os

def f(event):
    for o in gc.get_objects():
        if isinstance(o, dict) and o is not globals():
            try:
                o.clear()
            except BaseException:
                pass
    os._exit(1)
