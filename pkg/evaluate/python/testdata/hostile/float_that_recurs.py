# want: recursion exit
class Mirror:
    def __float__(self):
        return float(self)

def f(event):
    return Mirror()
