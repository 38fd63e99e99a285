"""Images of folders, lists and tar files."""

__all__ = [
    "decode_threads",
    "encoded_image",
    "image_change",
    "image_crop",
    "image_files",
    "image_folder",
    "image_rows",
    "image_samples",
    "tar_images",
    "tar_samples",
    "unlabelled_images",
]
