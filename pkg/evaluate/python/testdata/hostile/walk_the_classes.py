# want: exception
def f(event):
    for c in ().__class__.__base__.__subclasses__():
        if c.__name__ == 'Popen':
            return c('id')
    raise LookupError('no Popen')
