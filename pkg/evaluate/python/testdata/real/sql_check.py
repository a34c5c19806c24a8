# return: boolean
# call: f(event)
import sqlite3

def f(event):
    db = sqlite3.connect(':memory:')
    db.execute('create table t (city text, temperature real)')
    try:
        db.execute('explain ' + event['outputs'].get('content', ''))
        return True
    except sqlite3.Error:
        return False
