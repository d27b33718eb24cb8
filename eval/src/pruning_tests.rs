//! Functions beside their originals: which lines stand for which, and where guards stand.

use super::*;

/// An original, with what it executed marked by `#`, and a gist's function beside it: the gist as it runs, or
/// nothing where it is not the original's.
#[track_caller]
fn check(original: &str, gist: &str, expected: &str) {
    let hits: Vec<u32> =
        (1..).zip(original.lines()).filter(|(_, l)| l.ends_with('#')).map(|(n, _)| n).collect();
    let ran = |line: &Line| was_hit(&hits, line);
    let (outline, own) = (Outline::of(original), Outline::of(gist));
    let (tree, own) = (Tree::of(&outline), Tree::of(&own));
    let (from, at) = (tree.functions().next().unwrap(), own.functions().next().unwrap());
    let guarded =
        Pairing::of((&own, at), (&tree, from), &ran).map_or("nothing".to_owned(), |pairs| {
            let mut guards = Guards::of(gist);
            guards.add(&own, &tree, &pairs, &ran);
            guards.done()
        });
    assert_eq!(guarded.replace(GUARD, "GUARD"), expected, "{gist}");
    let read = Outline::of(&guarded);
    assert!(read.errors.is_empty() || guarded == "nothing", "{:?}", read.errors);
}

const SAME: &str = "def same(a, b):\n    if a == b: #\n        return #\n    raise Other\n";
const LOOP: &str = "def all_of(items):\n    for item in items: #\n        if item is None: #\n            continue\n        elif item: #\n            a = 1 #\n            check(item) #\n        else:\n            raise Other\n    return a #\n";

#[test]
fn what_never_ran_may_go_and_is_guarded() {
    check(
        SAME,
        "def same(a, b):\n    if a == b:\n        return\n",
        "def same(a, b):\n    if a == b:\n        return\n    GUARD\n",
    );
    check(SAME, SAME, SAME);
    let short = "def all_of(items):\n    for item in items:\n        if item is None:\n            pass\n        elif item:\n            a = 1\n            check(item)\n    return a\n";
    check(
        LOOP,
        short,
        "def all_of(items):\n    for item in items:\n        if item is None:\n            pass\n        elif item:\n            a = 1\n            check(item)\n        else: GUARD\n    return a\n",
    );
    check(
        "def same(a, b):\n    if a.kind == b: #\n        return a == b #\n    elif b:\n        return b\n    return None\n",
        "def same(a, b):\n    if a.kind == b:\n        return a == b\n",
        "def same(a, b):\n    if a.kind == b:\n        return a == b\n    else: GUARD\n    GUARD\n",
    );
    let raises = "def same(a, b):\n    if a != b: #\n        raise Other\n    return a #\n";
    for filler in [":\n        pass", ":\n        ...", ": pass"] {
        let gist = format!("def same(a, b):\n    if a != b{filler}\n    return a\n");
        let word = filler.trim_start_matches([':', '\n', ' ']);
        check(raises, &gist, &gist.replace(word, &format!("GUARD; {word}")));
    }
}

#[test]
fn what_stands_for_what_never_ran_is_never_reached() {
    let original = "def f(a):\n    if a: #\n        if a.b:\n            a = a.b\n        else:\n            a = 1\n    return a #\n";
    for (body, expected) in [
        ("a = 1", "GUARD; a = 1"),
        ("if a.b:\n            a = a.b", "if a.b:\n            a = a.b\n        else: GUARD"),
        ("if a:\n            a = 1", "GUARD\n        if a:\n            a = 1"),
    ] {
        let gist = |body: &str| format!("def f(a):\n    if a:\n        {body}\n    return a\n");
        check(original, &gist(body), &gist(expected));
    }
}

#[test]
fn what_ran_stays_in_its_place() {
    for gist in [
        // Another statement, one that is gone, two that changed their places, one in another suite.
        "def same(a, b):\n    if a == a:\n        return\n",
        "def same(a, b):\n    return\n",
        "def same(a, b):\n    if a == b:\n        pass\n",
        "def same(a, b):\n    raise Other\n    if a == b:\n        return\n",
        "def same(a, b):\n    if a == b:\n        pass\n    return\n",
        "def same(a, b):\n    if a == b:\n        pass\n    else:\n        return\n",
        "def same(a, b):\n    if a == b:\n        return\n    return\n",
    ] {
        check(SAME, gist, "nothing");
    }
    check(
        LOOP,
        "def all_of(items):\n    for item in items:\n        a = 1\n        check(item)\n    return a\n",
        "nothing",
    );
}

#[test]
fn a_try_that_caught_nothing_may_go_alone() {
    let original = "def f(a):\n    try: #\n        b = a() #\n        if b: #\n            raise Other\n    except Other:\n        return\n    else:\n        c = b #\n    return c #\n";
    let flat = "def f(a):\n    b = a()\n    if b:\n        pass\n    c = b\n    return c\n";
    check(original, flat, &flat.replace("pass", "GUARD; pass"));
    let whole = "def f(a):\n    try:\n        b = a()\n        if b:\n            pass\n    except Other:\n        return\n    else:\n        c = b\n    return c\n";
    check(original, whole, &whole.replace("pass", "GUARD; pass"));
    let caught =
        original.replace("except Other:\n        return\n", "except Other: #\n        a = 1 #\n");
    check(&caught, flat, "nothing");
    check(original, "def f(a):\n    b = a()\n    c = b\n    return c\n", "nothing");
    // A handler that an error went past.
    for (handler, expected) in [
        ("except Other: #", flat.replace("pass", "GUARD; pass")),
        ("except (Other, some.Error) as error: #", flat.replace("pass", "GUARD; pass")),
        ("except other(): #", "nothing".to_owned()),
        ("except (other(), some.Error): #", "nothing".to_owned()),
        ("except* Other: #", "nothing".to_owned()),
    ] {
        let passed = original.replace("except Other:", handler);
        check(&passed, flat, &expected);
    }
    let silent =
        original.replace("except Other:\n        return\n", "except Other: #\n        pass\n");
    check(&silent, flat, "nothing");
    check(&silent.replace("pass", "continue"), flat, "nothing");
}

#[test]
fn names_that_a_function_imports_may_be_given_otherwise() {
    let original = "def f():\n    from lib import a #\n    import os #\n    return a(os) #\n";
    for body in ["", "    a = other_a\n", "    pass\n    import os\n"] {
        let gist = format!("def f():\n{body}    return a(os)\n");
        check(original, &gist, &gist);
    }
    check(original, "def f():\n    b = other_b\n    return a(os)\n", "nothing");
}

#[test]
fn what_python_never_tells_is_no_reason_for_a_guard() {
    let original = "def f(items):\n    for item in items: #\n        if item: #\n            continue\n        use(item) #\n    if False:\n        pass\n";
    let gist = "def f(items):\n    for item in items:\n        if item:\n            pass\n        use(item)\n";
    check(original, gist, gist);
}

#[test]
fn what_was_defined_and_ran_stays_as_what_shares_a_name_does() {
    let inner =
        "def near(a, b):\n    def check(value): #\n        assert value #\n    check(a == b) #\n";
    check(inner, inner, inner);
    check(inner, "def near(a, b):\n    check(a == b)\n", "nothing");
    let idle =
        "def near(a, b):\n    def check(value): #\n        assert value\n    use(a == b) #\n";
    check(idle, "def near(a, b):\n    use(a == b)\n", "def near(a, b):\n    use(a == b)\n");
    let other = "def near(a, b):\n    def log(*args): pass #\n    log(a) #\n    use(a == b) #\n";
    check(other, "def near(a, b):\n    log(a)\n    use(a == b)\n", "nothing");
    // What is defined anew at once does nothing, and its annotation is on the line of that.
    let other = "def near(a, b):\n    @overload #\n    def log(\n        value,\n    ) -> int: ... #\n    def log(value): #\n        use(value) #\n    log(a == b) #\n";
    let last = "def near(a, b):\n    def log(value):\n        use(value)\n    log(a == b)\n";
    check(other, last, last);
    let registered = other.replace("overload", "show.register");
    check(&registered, last, "nothing");
    for word in ["global", "nonlocal"] {
        let shares = format!("def near(a, b):\n    {word} fine\n    fine = a == b #\n");
        check(&shares, "def near(a, b):\n    fine = a == b\n", "nothing");
        let reads = format!("def near(a, b):\n    {word} fine\n    use(fine) #\n");
        check(&reads, "def near(a, b):\n    use(fine)\n", "def near(a, b):\n    use(fine)\n");
    }
}
