"""What private learning costs: rules, noise and the theorems that they rest on."""
