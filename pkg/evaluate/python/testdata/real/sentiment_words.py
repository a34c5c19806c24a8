# return: string
# call: f(event)
GOOD = {'great', 'thanks', 'happy', 'glad'}
BAD = {'sorry', 'unfortunately', 'cannot', 'error'}

def f(event):
    words = [w.strip('.,!').lower() for w in event['outputs'].get('content', '').split()]
    balance = sum(w in GOOD for w in words) - sum(w in BAD for w in words)
    match balance:
        case 0:
            return 'neutral'
        case n if n > 0:
            return 'positive'
        case _:
            return 'negative'
