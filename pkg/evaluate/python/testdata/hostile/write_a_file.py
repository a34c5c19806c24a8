# want: exception
def f(event):
    with open('/tmp/x', 'w') as out:
        out.write('x')
