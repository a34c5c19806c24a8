# want: timeout memory
import math

def f(event):
    return math.factorial(10 ** 8)
