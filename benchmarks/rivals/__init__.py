"""Other people's software and straightforward code, at the same settings as ours."""
