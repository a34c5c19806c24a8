# want: timeout
class Undead:
    def __del__(self):
        Undead()

def f(event):
    while True:
        Undead()
