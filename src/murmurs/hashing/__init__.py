"""From a string to its keys to its buckets, in our layout and in those of deployed clients."""
