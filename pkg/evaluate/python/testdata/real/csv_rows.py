# return: float
# call: f(event)
import csv
import io

def f(event):
    return sum(1 for row in csv.reader(io.StringIO(event['outputs'].get('content', ''))) if len(row) > 1)
