import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { LARGEST_RANGE, bucket, permuted, xxh32 } from "../src/hashing.js";

const read = (name) =>
  JSON.parse(readFileSync(new URL(`../../vectors/${name}`, import.meta.url), "utf8"));
const HASHES = read("hash.json");
const PERMUTED = read("strings.json").filter((vector) => vector.kind === "permuted");

const halves = (digits) => ({
  low: parseInt(digits.slice(8), 16),
  high: parseInt(digits.slice(0, 8), 16),
});

test("hashes and buckets are those of the vectors", () => {
  assert.ok(HASHES.length > 20);
  for (const vector of HASHES) {
    assert.equal(xxh32(halves(vector.key), vector.seed), vector.hash, vector.key);
    for (const [g, value] of vector.buckets) {
      assert.equal(bucket(halves(vector.key), vector.seed, g), value, `${vector.key} among ${g}`);
    }
  }
});

test("buckets are exact up to the largest range", () => {
  for (let seed = 0; seed < 5000; seed++) {
    const key = { low: seed * 7919, high: 2 ** 32 - 1 - seed };
    for (const g of [2, 1000, 65536, LARGEST_RANGE]) {
      const wanted = (BigInt(xxh32(key, seed)) * BigInt(g)) >> 32n;
      assert.equal(BigInt(bucket(key, seed, g)), wanted);
    }
  }
});

test("permuted answers have the places of the vectors", () => {
  assert.ok(PERMUTED.length > 3);
  for (const { k, cohorts, width, salt, places } of PERMUTED) {
    const found = Array.from({ length: cohorts }, (_, c) => permuted(k, c, { width, salt }));
    assert.deepEqual(found, places);
  }
});
