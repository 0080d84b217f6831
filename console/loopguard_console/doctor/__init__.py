"""What ``doctor`` looks at: one module an area, each a list of findings."""
