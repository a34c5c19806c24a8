# return: boolean
# call: f(event['outputs'], event['inputs'], ground_truth)
def f(outputs, inputs, ground_truth):
    return outputs.get('content', '').strip() == (ground_truth or '').strip()
