# want: result_type
def f(event):
    return float('inf')
