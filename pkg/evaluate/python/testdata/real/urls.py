# return: float
# call: f(event)
import re
from urllib.parse import urlparse

def f(event):
    return len({urlparse(u).netloc for u in re.findall(r'https?://\S+', event['outputs'].get('content', ''))})
