# return: float
# call: float(f(event))
from decimal import Decimal

def f(event):
    return Decimal(str(event['metadata'].get('cost', 0))) * 1000
