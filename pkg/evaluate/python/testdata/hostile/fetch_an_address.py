# want: exception import
import urllib.request

def f(event):
    return len(urllib.request.urlopen('http://127.0.0.1:7420/healthcheck').read())
