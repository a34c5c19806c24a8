# return: float
# call: f(event)
def lcs(a, b):
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]

def f(event):
    a = event['outputs'].get('content', '').lower().split()
    b = (event['feedback'].get('ground_truth') or '').lower().split()
    n = lcs(a, b)
    if not n:
        return 0
    p, r = n / len(a), n / len(b)
    return 2 * p * r / (p + r)
