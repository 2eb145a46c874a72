"""The same methods past memory and past one machine: columns in slabs, through a budget or on workers."""
