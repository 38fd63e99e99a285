"""Images of folders, lists and tar files."""

__all__ = [
    "crop",
    "decode_threads",
    "image_change",
    "image_files",
    "image_folder",
    "image_rows",
    "image_samples",
    "image_table",
    "picture",
    "tar_images",
]
