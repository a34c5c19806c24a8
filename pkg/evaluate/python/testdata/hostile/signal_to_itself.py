# want: exception exit
import signal

def f(event):
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGABRT)
    return 1
