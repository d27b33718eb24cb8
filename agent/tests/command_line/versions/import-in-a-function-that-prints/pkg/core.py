def go(x):
    print("before")
    from pkg.heavy import compute
    return compute(x)

def again(x):
    from .heavy import compute as reckon
    return reckon(x)
