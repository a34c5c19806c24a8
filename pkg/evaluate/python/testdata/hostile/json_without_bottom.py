# want: recursion
import json

def f(event):
    return json.loads("[" * 1_000_000)
