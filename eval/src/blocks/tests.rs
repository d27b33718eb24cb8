//! Lines of sources, as they are read.

use super::*;

fn show(text: &str) -> String {
    let outline = Outline::of(text);
    let mut out = String::new();
    for line in &outline.lines {
        let mark = match line.class {
            Class::Executable => ' ',
            Class::Potential => '?',
            Class::Inert => '-',
        };
        out.push_str(&format!(
            "{}{mark} {}-{} [{}] {}\n",
            line.first, line.reach.0, line.reach.1, line.block, line.text
        ));
    }
    out
}

fn check(text: &str, expected: &str) {
    assert_eq!(show(text), expected);
}

#[test]
fn lines_are_statements_and_headers() {
    check(
        "'''doc'''\nimport a, b as c\nfrom .m import (x,\n  y)\n\nclass C(B):\n    '''doc'''\n    n: int\n\n    @p\n    @q(\n      1)\n    def f(self,\n          a=1):\n        global g\n        z: int\n        if a: # why\n            pass\n        elif b:\n            return (\n              1)\n        else:\n            x()\n",
        "2  2-2 [] import a, b as c\n2  2-2 [] import a, b as c\n3  3-4 [] from .m import (x, y)\n3  3-4 [] from .m import (x, y)\n6  6-23 [C] class C(B):\n8  8-8 [C] n: int\n10- 10-10 [C.f] @p\n11- 11-12 [C.f] @q( 1)\n13  10-23 [C.f] def f(self, a=1):\n15- 15-15 [C.f] global g\n16- 16-16 [C.f] z: int\n17  17-23 [C.f] if a:\n18? 18-18 [C.f] pass\n19  19-23 [C.f] elif b:\n20  20-21 [C.f] return ( 1)\n23  23-23 [C.f] x()\n",
    );
    check(
        "try:\n    a()\nexcept E as e:\n    b()\nelse:\n    c()\nfinally:\n    d()\nwith a as b, c: e()\nfor x in y: ...\nwhile 1:\n    break\nmatch x:\n    case 1 if y:\n        f()\n    case _:\n        g()\n",
        "1  1-8 [] try:\n2  2-2 [] a()\n3? 3-4 [] except E as e:\n4? 4-4 [] b()\n6  6-6 [] c()\n8  8-8 [] d()\n9  9-9 [] with a as b, c:\n9  9-9 [] e()\n10  10-10 [] for x in y:\n10? 10-10 [] ...\n11  11-12 [] while 1:\n12  12-12 [] break\n13  13-17 [] match x\n14  14-17 [] case 1 if y:\n15  15-15 [] f()\n16  16-17 [] case _:\n17  17-17 [] g()\n",
    );
}

fn same(left: &str, right: &str, expected: bool) {
    let keys = |text| -> Vec<Key> { Outline::of(text).lines.iter().map(|l| l.key).collect() };
    assert_eq!(keys(left) == keys(right), expected, "{left:?} and {right:?}");
}

#[test]
fn layout_does_not_count() {
    same("f(a,\n  b,\n)", "f( a, b )  # why", true);
    same("x = ('a'\n 'b')", "x = \"ab\"", true);
    same("x = (1)", "x = 1", true);
    same("x = 0x10", "x = 16", true);
    same("class A(): pass", "class A: pass", true);
    same("import a, b", "import a\nimport b", true);
    same("from m import (a, b)", "from m import a\nfrom m import b", true);
    same("def f(a): return a", "def f(b): return b", false);
    same("if a: pass", "if b: pass", false);
    same("x = 1", "x = 2", false);
    same("x = f'{a}b'", "x = f'{a}c'", false);
    same("async def f(): pass", "def f(): pass", false);
    same("except_ = 1", "except_ = 1; ", true);
}

/// A slice may leave one `if` of several statements below an `else`.
#[test]
fn an_else_of_one_if_is_no_elif() {
    let roles = |text| -> Vec<Role> { Outline::of(text).lines.iter().map(|l| l.role).collect() };
    let chain = roles("if a:\n  x()\nelif b:\n  y()\n");
    assert_eq!(chain, [Role::If, Role::Simple, Role::Elif, Role::Simple]);
    let nested = roles("if a:\n  x()\nelse:\n  if b:\n    y()\n");
    assert_eq!(nested, [Role::If, Role::Simple, Role::If, Role::Simple]);
}

#[test]
fn p01_deep_nesting_is_read_without_recursion_limits() {
    for text in [
        format!("x = {}1", "1+".repeat(200_000)),
        format!("x = {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("x = {}1", "not ".repeat(100_000)),
        format!("x = a{}", ".b".repeat(100_000)),
    ] {
        assert_eq!(Outline::of(&text).lines.len(), 1, "{}…", &text[..20]);
    }
}

#[test]
fn broken_source_gives_what_could_be_read() {
    let outline = Outline::of("def f(:\n    return 1\n\ndef g():\n    return 2\n");
    assert!(!outline.errors.is_empty());
    assert!(outline.lines.iter().any(|line| line.block == "g" && line.text == "return 2"));
}
