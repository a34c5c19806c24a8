# want: result_type
class Liar:
    __class__ = str
    def encode(self, *a):
        return self
    def decode(self, *a):
        return self

def f(event):
    return {"score": Liar(), "explanation": Liar()}
