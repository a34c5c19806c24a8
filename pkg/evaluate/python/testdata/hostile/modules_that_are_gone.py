# want: exception exit import
import sys

def f(event):
    sys.modules.clear()
    sys.meta_path.clear()
    sys.path_hooks.clear()
    sys.path.clear()
    import colorsys
    return 1
