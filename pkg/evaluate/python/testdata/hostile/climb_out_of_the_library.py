# want: exception
import os

def f(event):
    return len(open(os.path.dirname(os.__file__) + '/../../../../../../../../etc/hostname').read())
