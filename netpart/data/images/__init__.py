"""Images of folders, lists and tar files."""

__all__ = ["image_change", "image_files", "image_rows", "image_samples", "image_table", "picture", "tar_images"]
