"""Every table and figure of the paper, computed and put beside the published numbers."""
