# want: import
import multiprocessing

def f(event):
    multiprocessing.Process(target=print).start()
