"""Quality of the automatic choice, confidences, label sets and suggestions, on many graphs."""
