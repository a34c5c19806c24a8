# want: recursion exit
class Mirror(dict):
    def __contains__(self, key):
        return self in [Mirror()]
    def __eq__(self, other):
        return other == self

def f(event):
    return Mirror()
