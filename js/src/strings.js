/**
 * Strings as answers: one normal form, four 64-bit keys, and a few places in each cohort.
 *
 * The keys of a string are the four little-endian 64-bit numbers of the SHA-256 of its UTF-8 bytes
 * in Unicode's normal form C; hash number j has key j mod 4. Known answers are in
 * vectors/strings.json.
 */

import { bucket } from "./hashing.js";
import { sha256 } from "./sha256.js";

/** @typedef {import("./hashing.js").Key} Key */

/**
 * @typedef {object} Table What a mechanism with cohorts says of its hash functions.
 * @property {number} width places of a cohort, from 2 to 65536
 * @property {number} cohorts from 1 to 65536; cohorts * width is at most 2^24
 * @property {number} [hashes] hash functions of a cohort, from 1 to 16 and at most width; 1 if left out
 * @property {number} [salt] from 0 to 2^32 - 1; 0 if left out
 */

const encoder = new TextEncoder();

/**
 * Return a string in normal form C; what is empty or no Unicode text is refused.
 * It may be an answer, so that an error does not tell what it is.
 * @param {string} text
 * @returns {string}
 */
export function normal(text) {
  if (typeof text !== "string") {
    throw new TypeError(`an answer to an open question is a string, not of type ${typeof text}`);
  }
  if (text === "") {
    throw new RangeError("an answer to an open question is a string that is not empty");
  }
  let place = 0;
  for (const character of text) {
    if (/^[\ud800-\udfff]$/.test(character)) {
      throw new RangeError(
        "an answer to an open question is no Unicode text: " +
          `it has half of a surrogate pair at place ${place}`,
      );
    }
    place++;
  }
  return text.normalize("NFC");
}

/**
 * Return the four 64-bit keys of a string: what a device hashes.
 * @param {string} text
 * @returns {Key[]}
 */
export function keys(text) {
  const view = new DataView(sha256(encoder.encode(normal(text))).buffer);
  return [0, 8, 16, 24].map((at) => ({
    low: view.getUint32(at, true),
    high: view.getUint32(at + 4, true),
  }));
}

/**
 * Return the places of a string in a cohort, each once, in the order of the hashes.
 *
 * Hash i of cohort c is number j = c * hashes + i: it has key j mod 4 and the seed
 * (salt + j) mod 2^32.
 * @param {string} text
 * @param {number} cohort from 0 to cohorts - 1
 * @param {Table} table
 * @returns {number[]}
 */
export function places(text, cohort, { width, cohorts, hashes = 1, salt = 0 }) {
  whole(width, "width", 2, 2 ** 16);
  whole(cohorts, "cohorts", 1, 2 ** 16);
  whole(cohorts * width, "cohorts * width", 2, 2 ** 24);
  whole(hashes, "hashes", 1, Math.min(16, width));
  whole(salt, "salt", 0, 2 ** 32 - 1);
  whole(cohort, "cohort", 0, cohorts - 1);
  const own = keys(text);
  const found = new Set();
  for (let j = cohort * hashes; j < (cohort + 1) * hashes; j++) {
    found.add(bucket(own[j % own.length], (salt + j) % 2 ** 32, width));
  }
  return [...found];
}

/**
 * Refuse what is no whole number from low to high.
 * @param {number} value
 * @param {string} name
 * @param {number} low
 * @param {number} high
 */
function whole(value, name, low, high) {
  if (!Number.isInteger(value)) {
    throw new TypeError(`${name} must be a whole number, not ${told(value)}`);
  }
  if (value < low || value > high) {
    throw new RangeError(`${name} must be from ${low} to ${high}, not ${value}`);
  }
}

/**
 * Return a value as an error tells it.
 * @param {unknown} value
 * @returns {string}
 */
function told(value) {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 40));
  return Object(value) === value ? `some ${typeof value}` : String(value);
}
