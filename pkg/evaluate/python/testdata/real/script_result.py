# return: boolean
# call: result
text = outputs.get('content', '')
result = len(text.split()) <= 30
