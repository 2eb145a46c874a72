"""Every graph at hand, every budget of labels, and what a person could use instead of gssl."""
