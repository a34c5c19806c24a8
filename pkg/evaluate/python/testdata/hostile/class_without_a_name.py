# want: result_type
class Meta(type):
    @property
    def __name__(cls):
        while True:
            pass

class Nameless(metaclass=Meta):
    def __repr__(self):
        return type("Text", (str,), {"__getitem__": lambda s, i: {}})("nothing")

def f(event):
    return Nameless()
