# want: exception
import socket

def f(event):
    return socket.getaddrinfo('example.com', 80)[0][0]
