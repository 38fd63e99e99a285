"""Fast CPU kernels: the verbs of the reference kernels, computed by oneDNN's C API v3 through ctypes.

    names.py      numbers of the API            library.py    the shared library, ``missing_onednn()`` if it is absent
    memory.py     MemoryDesc and DnnlMemory     primitive.py  Attributes and PrimitiveDesc
    calls.py      Calls: primitives as an Op    other files   one for each group of verbs

A verb describes its primitives when it is bound. If oneDNN refuses one, or has only its plain loops for it, the
reference kernels do the whole verb.
"""

__all__ = ["kernels", "library"]
