# return: float
# call: f(event)
from html.parser import HTMLParser

class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.count = 0

    def handle_starttag(self, tag, attrs):
        self.count += 1

def f(event):
    p = Tags()
    p.feed(event['outputs'].get('content', ''))
    return p.count
