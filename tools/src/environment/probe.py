"""Says what an interpreter is; written so that any Python 3 can run it."""
import json
import os
import platform
import site
import sys
import sysconfig


def version_of(name):
    return version_in_directories(name) or version_by_metadata(name)


# Where it is found this way, nothing is imported: importlib.metadata takes longer than all else here.
def version_in_directories(name):
    for entry in sys.path:
        try:
            found = sorted(os.listdir(entry))
        except OSError:
            continue
        for directory in found:
            if directory.startswith(name + "-") and directory.endswith(".dist-info"):
                try:
                    with open(os.path.join(entry, directory, "METADATA"), "rb") as file:
                        lines = file.read().decode("utf-8", "replace").splitlines()
                except OSError:
                    continue
                for line in lines:
                    if line.startswith("Version:"):
                        return line[len("Version:"):].strip()
    return None


def version_by_metadata(name):
    try:
        from importlib.metadata import PackageNotFoundError, version
    except ImportError:
        return None
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def full_version(info):
    text = "%d.%d.%d" % (info.major, info.minor, info.micro)
    if info.releaselevel != "final":
        text += info.releaselevel[0] + str(info.serial)
    return text


print(json.dumps({
    "executable": sys.executable,
    "version": list(sys.version_info[:3]),
    "prefixes": [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix],
    "path": [entry for entry in sys.path if entry],
    "packages": sysconfig.get_paths()["purelib"],
    "libraries": sysconfig.get_config_var("LIBDIR") or "",
    "extension_suffix": sysconfig.get_config_var("EXT_SUFFIX") or "",
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "pytest": version_of("pytest"),
    "markers": {
        "implementation_name": sys.implementation.name,
        "implementation_version": full_version(sys.implementation.version),
        "os_name": os.name,
        "platform_machine": platform.machine(),
        "platform_python_implementation": platform.python_implementation(),
        "platform_release": platform.release(),
        "platform_system": platform.system(),
        "platform_version": platform.version(),
        "python_full_version": full_version(sys.version_info),
        "python_version": "%d.%d" % sys.version_info[:2],
        "sys_platform": sys.platform,
    },
}))
