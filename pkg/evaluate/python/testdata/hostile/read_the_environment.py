# want: exception
import os

def f(event):
    assert not os.environ, dict(os.environ)
    return os.environ['SPANGROVE_POSTGRES_DSN']
