"""What people look at: plots, and later tables and the report page."""
