# want: exception
import threading

def f(event):
    t = threading.Thread(target=lambda: None)
    t.start()
