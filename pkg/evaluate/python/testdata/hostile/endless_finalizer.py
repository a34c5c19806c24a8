# want: timeout
class Undead:
    def __del__(self):
        while True:
            pass

def f(event):
    Undead()
    return 1
