# return: float
# call: f(event['outputs'], event['inputs'])
def f(answer, question):
    return len(answer.get('content', '')) - len(question.get('question', ''))
