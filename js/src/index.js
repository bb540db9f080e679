export { bucket, permuted, xxh32 } from "./hashing.js";
export { sha256 } from "./sha256.js";
export { keys, normal, places } from "./strings.js";
