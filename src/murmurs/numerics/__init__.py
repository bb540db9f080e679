"""Mathematics without any privacy: arrays, special functions, transforms, sampling."""
