# return: float
# call: f(event)
import heapq

def f(event):
    return sum(heapq.nlargest(2, event['metadata'].get('scores', [0])))
