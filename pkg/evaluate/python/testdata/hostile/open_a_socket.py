# want: exception
import socket

def f(event):
    s = socket.socket()
    s.connect(('127.0.0.1', 5432))
