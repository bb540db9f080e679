/**
 * One hash for buckets: XXH32 of a 64-bit key, reduced to a range by multiplication.
 *
 * The hash of a key under a 32-bit seed is XXH32 of its eight little-endian bytes; the bucket
 * among g is (hash * g) >> 32. Known answers are in vectors/hash.json.
 */

/** @typedef {{low: number, high: number}} Key A 64-bit key as two unsigned 32-bit halves. */

const [P2, P3, P4, P5] = [2246822519, 3266489917, 668265263, 374761393];

/** The largest range: hash * g stays below 2^53, so that it is exact. */
export const LARGEST_RANGE = 2 ** 21 - 1;

/**
 * Return XXH32 of a key, from 0 to 2^32 - 1.
 * @param {Key} key
 * @param {number} seed from 0 to 2^32 - 1
 * @returns {number}
 */
export function xxh32({ low, high }, seed) {
  let h = (seed + P5 + 8) | 0;
  for (const half of [low, high]) {
    h = (h + Math.imul(half, P3)) | 0;
    h = Math.imul((h << 17) | (h >>> 15), P4);
  }
  h = Math.imul(h ^ (h >>> 15), P2);
  h = Math.imul(h ^ (h >>> 13), P3);
  return (h ^ (h >>> 16)) >>> 0;
}

/**
 * Return the bucket of a key among g.
 * @param {Key} key
 * @param {number} seed from 0 to 2^32 - 1
 * @param {number} g from 1 to LARGEST_RANGE
 * @returns {number}
 */
export function bucket(key, seed, g) {
  return Math.floor((xxh32(key, seed) * g) / 2 ** 32);
}

/**
 * Return the places of the answers 0..k-1 of a closed alphabet in one cohort.
 *
 * Answers are sorted by their hash under the seed salt + cohort, equal hashes by number; the place
 * of an answer is its rank modulo width.
 * @param {number} k how many answers there are
 * @param {number} cohort
 * @param {{width: number, salt?: number}} parameters
 * @returns {number[]}
 */
export function permuted(k, cohort, { width, salt = 0 }) {
  const seed = (salt + cohort) % 2 ** 32;
  const hashes = Array.from({ length: k }, (_, answer) => xxh32({ low: answer, high: 0 }, seed));
  const order = [...hashes.keys()].sort((a, b) => hashes[a] - hashes[b] || a - b);
  const out = new Array(k);
  order.forEach((answer, rank) => {
    out[answer] = rank % width;
  });
  return out;
}
