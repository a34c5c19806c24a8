# want: timeout result_type memory output
import sys

def f(event):
    sys.set_int_max_str_digits(0)
    return 7 ** 3_000_000
