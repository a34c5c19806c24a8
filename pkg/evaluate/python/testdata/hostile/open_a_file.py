# want: exception
def f(event):
    return len(open('/etc/passwd').read())
