# want: exception
import json
import os

def f(event):
    with open(json.__file__, "w") as file:
        file.write("loads = None")
    os.rename(json.__file__, "/json.py")
    return 1
