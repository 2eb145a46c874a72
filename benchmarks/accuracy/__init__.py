"""What the automatic choice, confidences, label sets and suggestions are worth, on many graphs."""
