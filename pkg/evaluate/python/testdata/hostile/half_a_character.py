# want: result_type
def f(event):
    return "\ud800 \0 \udfff \x1b[2J", "\udc00\0"
