"""The pages that verbs write: one file a verb."""
