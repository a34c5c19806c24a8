# return: float
# call: f(event['outputs'], event['inputs'])
def f(answer, question, /, scale=2):
    return scale * len(answer.get('content', '')) + len(question)
