# want: import
import numpy as np

def f(event):
    return float(np.mean([1, 2]))
