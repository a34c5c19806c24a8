# want: timeout
class K:
    def __init__(self, n):
        self.n = n
    def __hash__(self):
        return 1
    def __eq__(self, other):
        return self.n == other.n

def f(event):
    return len({K(i): i for i in range(100_000)})
