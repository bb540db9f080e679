"""How strings are hashed to keys and buckets, in murmurs and in deployed RAPPOR clients."""

from murmurs.hashing.layout import Ranked
from murmurs.hashing.strings import key, keys, normal
from murmurs.numerics.xxh32 import bucket, hash_key

__all__ = ["Ranked", "bucket", "hash_key", "key", "keys", "normal"]
