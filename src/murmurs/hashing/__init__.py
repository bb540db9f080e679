"""How strings are hashed to keys and buckets, in murmurs and in deployed RAPPOR clients."""
