# want: exception import
import importlib.machinery

def f(event):
    return importlib.machinery.ExtensionFileLoader('x', '/tmp/x.so').load_module()
