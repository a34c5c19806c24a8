# want: result_type
class Undead(str):
    def __del__(self):
        raise SystemExit(self.undefined)

def f(event):
    return Undead("dead")
