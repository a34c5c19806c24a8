# want: result_type exception
import json
import os

json.dumps = json.loads = lambda *a, **k: '{}'
os.write = lambda *a: 0

def f(event):
    return [1]
