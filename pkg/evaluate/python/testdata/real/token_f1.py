# return: float
# call: f(event)
from collections import Counter
import re
import string


def normal(text):
    text = ''.join(c for c in text.lower() if c not in string.punctuation)
    return re.sub(r'\b(a|an|the)\b', ' ', text).split()


def f(event):
    got = normal(event['outputs'].get('content', ''))
    want = normal(event['feedback'].get('ground_truth') or '')
    common = sum((Counter(got) & Counter(want)).values())
    if not common:
        return 0.0
    precision, recall = common / len(got), common / len(want)
    return round(2 * precision * recall / (precision + recall), 6)
