"""The fast CPU kernels: oneDNN's C API v3 through ctypes, behind the verbs of the reference kernels.

    names.py      numbers of the API            library.py    the shared library, ``refusal()`` if it is not there
    memory.py     Desc and Memory               primitive.py  Attributes and PrimitiveDesc
    calls.py      Calls: primitives as an Op    the others    one file for each group of verbs

A verb describes its primitives when it is bound. Those that oneDNN refuses, or would do with its plain loops, stay
with the reference kernels.
"""

__all__ = ["kernels", "library"]
