import os as __gist_os__
__gist_open__, __gist_write__, __gist_close__ = __gist_os__.open, __gist_os__.write, __gist_os__.close
__gist_log__ = __gist_os__.environ.get("GISTIFY_PROBE", __gist_os__.devnull)
class __gist_probe__:
    def __init__(self, tag):
        self.tag = tag
    def __call__(self, found):
        if type(found) is type(__gist_asked__.__note__) and found.__name__ in ("__init_subclass__", "__class_getitem__"):
            found = classmethod(found)
        data = hasattr(type(found), "__set__") or hasattr(type(found), "__delete__")
        return (__gist_data__ if data else __gist_asked__)(self.tag, found)
class __gist_asked__:
    def __init__(self, tag, found):
        self.__dict__["tag"] = tag
        self.__dict__["found"] = found
        self.__dict__["__doc__"] = getattr(found, "__doc__", None)
        if getattr(found, "__isabstractmethod__", False):
            self.__dict__["__isabstractmethod__"] = True
    def __note__(self):
        log = __gist_open__(__gist_log__, __gist_os__.O_WRONLY | __gist_os__.O_APPEND | __gist_os__.O_CREAT, 0o600)
        __gist_write__(log, (self.tag + "\n").encode())
        __gist_close__(log)
    def __set_name__(self, owner, name):
        self.__dict__["name"] = name
        if hasattr(type(self.found), "__set_name__"):
            self.found.__set_name__(owner, name)
    def __get__(self, owner, kind=None):
        self.__note__()
        if hasattr(type(self.found), "__get__"):
            return self.found.__get__(owner, kind)
        return getattr(owner, "__dict__", {}).get(self.__dict__.get("name"), self.found)
    def __call__(self, *args, **kwargs):
        self.__note__()
        return self.found(*args, **kwargs)
    @property
    def __class__(self):
        # Who asks what it is finds a function where there was one; what goes through a class asks that of all of it.
        return type(self.found)
    def __copy__(self):
        return self
    def __deepcopy__(self, memo):
        return self
    def __getattr__(self, name):
        if name in ("__isabstractmethod__", "found"):
            raise AttributeError(name)
        value = getattr(self.found, name)
        # Programs that collect things by module read the globals and the line of every function. Who reads a signature
        # reads more.
        if name not in ("__globals__", "__code__"):
            self.__note__()
        return value
    def __setattr__(self, name, value):
        setattr(self.found, name, value)
    def __delattr__(self, name):
        delattr(self.found, name)
class __gist_data__(__gist_asked__):
    def __set__(self, owner, value):
        self.__note__()
        self.found.__set__(owner, value)
    def __delete__(self, owner):
        self.__note__()
        self.found.__delete__(owner)
