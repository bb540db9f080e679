"""Mathematics that knows nothing about privacy: arrays, special functions, transforms, sampling."""
