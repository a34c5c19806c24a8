# want: exception exit
import builtins

def f(event):
    for name in list(vars(builtins)):
        delattr(builtins, name)
    return nothing
