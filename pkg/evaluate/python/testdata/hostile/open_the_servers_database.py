# want: exception
def f(event):
    return len(open('spangrove-data/spangrove.db', 'rb').read())
