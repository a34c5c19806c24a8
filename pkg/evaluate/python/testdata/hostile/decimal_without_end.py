# want: timeout memory exception
import decimal

def f(event):
    decimal.getcontext().prec = decimal.MAX_PREC
    return decimal.Decimal(1) / 3
