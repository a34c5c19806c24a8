# want: exception
import pathlib

def f(event):
    found = [p for p in pathlib.Path('/').rglob('*.db')]
    assert not found, 'a way out'
    raise LookupError('nothing there')
