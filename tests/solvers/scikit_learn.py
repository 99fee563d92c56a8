"""Laws of scikit-learn that a private model must break, and why."""

NO_WEIGHT = {
    "check_all_zero_sample_weights_error": "a refusal that depends on the records would be a leak",
}
ROUNDED = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "weights are rounded, so that sums are exact",
)
DECLARED_LABELS = dict.fromkeys(
    (
        "check_dtype_object",
        "check_classifiers_classes",
        "check_classifiers_regression_target",
        "check_classifiers_train",
    ),
    "labels are declared, and never read off the data: the check has others, or fewer",
)
