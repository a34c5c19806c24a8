# return: boolean
# call: f(event)
import ast

def f(event):
    try:
        ast.parse(event['outputs'].get('content', ''))
    except SyntaxError:
        return False
    return True
