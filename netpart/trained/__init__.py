"""Predictions, explanations and samples computed with a trained net."""

__all__ = [
    "array_source",
    "gradcam",
    "input_errors",
    "label_maps",
    "pointing_game",
    "prediction",
    "prediction_arrays",
    "prediction_files",
    "prediction_job",
    "prediction_names",
    "prediction_source",
    "prediction_tables",
    "replaced_input",
    "sampling",
    "unlabelled_csv",
]
