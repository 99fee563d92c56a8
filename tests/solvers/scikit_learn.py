"""Laws of scikit-learn that a private model with weights must break, and why."""

NO_WEIGHT = {
    "check_all_zero_sample_weights_error": "a refusal that depends on the records would be a leak",
}
ROUNDED = {
    "check_sample_weight_equivalence_on_dense_data": "weights are rounded, so that sums are exact",
}
