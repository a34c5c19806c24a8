# return: string
# call: f(event)
from enum import Enum

class Grade(str, Enum):
    HIGH = 'high'
    LOW = 'low'

def f(event):
    return Grade.HIGH if len(event['outputs'].get('content', '')) > 40 else Grade.LOW
