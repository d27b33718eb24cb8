def double(x):
    return x * 2
def halve(x):
    return x / 2
