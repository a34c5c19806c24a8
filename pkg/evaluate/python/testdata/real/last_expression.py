# return: float
# call: round(len(outputs.get('content', '')) / 7, 3)
round(len(outputs.get('content', '')) / 7, 3)
