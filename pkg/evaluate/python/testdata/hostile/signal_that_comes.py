# want: exception import
import signal

def f(event):
    signal.signal(signal.SIGALRM, lambda *a: None)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    return None
