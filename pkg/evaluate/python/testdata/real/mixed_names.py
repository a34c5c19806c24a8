# return: float
# call: f(event['outputs'], metadata=event['metadata'])
def f(answer, *rest, metadata, limit=5, **more):
    return min(limit, len(answer)) + metadata.get('total_tokens', 0) % 7
