# want: timeout memory exception
import sys

def f(event):
    sys.set_int_max_str_digits(0)
    return len(str(7 ** 10_000_000))
