# want: recursion exit
class Mirror:
    def __repr__(self):
        return repr([self])

def f(event):
    return Mirror()
