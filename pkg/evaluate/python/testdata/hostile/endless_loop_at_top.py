# want: timeout
while True:
    pass
