//! Things from outside the repository: their names, and what calling the best known of them does to
//! the values that pass through.

use rustc_hash::FxHashMap;

use super::LinkedName;

/// A dotted name outside the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ForeignName(pub u32);

/// Attributes deeper than this are all one.
const DEEPEST: u8 = 4;

/// Interned dotted names.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    names: Vec<(String, u8)>,
    roots: FxHashMap<String, ForeignName>,
    attributes: FxHashMap<(ForeignName, LinkedName), Option<ForeignName>>,
    behaviours: Vec<Behaviour>,
}

/// The behaviour of a call of an external function or class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// Nothing is known.
    Opaque,
    /// Makes an instance of itself.
    Class,
    /// Gives back its first argument, or the same items in another container.
    First,
    /// The same of a function; given settings instead, it gives back itself, to be called with one.
    Wrapper,
    /// Gives back its second argument or instances of its first.
    Cast,
    /// Gives back the items of its first argument.
    Item,
    /// Pairs of a number and an item.
    Enumerate,
    /// Tuples of the items of each argument.
    Zip,
    /// Calls its first argument (or any argument that is a function) with items of the others.
    Map,
    /// Calls a `key` argument; gives back the first argument.
    Sorted,
    /// Calls its first argument with some arguments fixed; gives it back.
    Partial,
    /// The class of its first argument.
    Type,
    /// A property of its first argument.
    Property,
    /// A mapping with its keyword arguments as items.
    Mapping,
    /// A class made from all arguments but the first.
    WithMetaclass,
}

impl Foreign {
    pub(crate) fn root(&mut self, dotted: &str) -> ForeignName {
        if let Some(&known) = self.roots.get(dotted) {
            return known;
        }
        let depth = u8::try_from(dotted.matches('.').count()).unwrap_or(u8::MAX).min(2);
        let id = self.add(dotted.to_owned(), depth);
        self.roots.insert(dotted.to_owned(), id);
        id
    }

    /// An attribute of something foreign; nothing where the chain has become too long to matter.
    pub(crate) fn attribute(
        &mut self,
        of: ForeignName,
        name: LinkedName,
        text: &str,
    ) -> Option<ForeignName> {
        if let Some(&known) = self.attributes.get(&(of, name)) {
            return known;
        }
        let (base, depth) = &self.names[of.0 as usize];
        let made = if *depth >= DEEPEST {
            None
        } else {
            let (dotted, depth) = (format!("{base}.{text}"), depth + 1);
            Some(match self.roots.get(&dotted) {
                Some(&known) => known,
                None => {
                    let id = self.add(dotted.clone(), depth);
                    self.roots.insert(dotted, id);
                    id
                }
            })
        };
        self.attributes.insert((of, name), made);
        made
    }

    pub(crate) fn name(&self, of: ForeignName) -> &str {
        &self.names[of.0 as usize].0
    }

    pub(crate) fn behaviour(&self, of: ForeignName) -> Behaviour {
        self.behaviours[of.0 as usize]
    }

    fn add(&mut self, dotted: String, depth: u8) -> ForeignName {
        let id = ForeignName(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.behaviours.push(behaviour(&dotted));
        self.names.push((dotted, depth));
        id
    }
}

fn behaviour(dotted: &str) -> Behaviour {
    match dotted {
        "builtins.list"
        | "builtins.tuple"
        | "builtins.set"
        | "builtins.frozenset"
        | "builtins.iter"
        | "builtins.reversed"
        | "copy.copy"
        | "copy.deepcopy"
        | "functools.update_wrapper"
        | "builtins.staticmethod"
        | "builtins.classmethod"
        | "weakref.proxy"
        | "weakref.ref"
        | "itertools.chain"
        | "collections.deque"
        | "itertools.cycle"
        | "itertools.islice"
        | "contextlib.closing"
        | "itertools.tee"
        | "types.MethodType"
        | "builtins.aiter"
        | "functools.cache"
        | "contextlib.contextmanager"
        | "contextlib.asynccontextmanager"
        | "builtins.memoryview"
        | "asyncio.run"
        | "asyncio.create_task"
        | "asyncio.ensure_future"
        | "asyncio.wait_for"
        | "asyncio.shield"
        | "atexit.register"
        | "types.MappingProxyType" => Behaviour::First,
        "functools.lru_cache" => Behaviour::Wrapper,
        "typing.cast" | "typing_extensions.cast" | "typing.assert_type" => Behaviour::Cast,
        "builtins.next" | "builtins.anext" | "builtins.max" | "builtins.min" | "random.choice" => {
            Behaviour::Item
        }
        "builtins.enumerate" => Behaviour::Enumerate,
        "builtins.zip" | "itertools.zip_longest" | "itertools.product" => Behaviour::Zip,
        "builtins.map"
        | "builtins.filter"
        | "functools.reduce"
        | "itertools.starmap"
        | "itertools.filterfalse"
        | "itertools.takewhile"
        | "itertools.dropwhile" => Behaviour::Map,
        "builtins.sorted" => Behaviour::Sorted,
        "functools.partial" | "functools.partialmethod" => Behaviour::Partial,
        "builtins.type" => Behaviour::Type,
        "builtins.property" | "functools.cached_property" => Behaviour::Property,
        "builtins.dict" | "collections.OrderedDict" | "types.SimpleNamespace" => Behaviour::Mapping,
        "six.with_metaclass" | "future.utils.with_metaclass" => Behaviour::WithMetaclass,
        _ => {
            let last = dotted.rsplit('.').next().unwrap_or(dotted);
            let class =
                last.trim_start_matches('_').starts_with(|first: char| first.is_uppercase());
            if class { Behaviour::Class } else { Behaviour::Opaque }
        }
    }
}
