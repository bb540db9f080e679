import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";

import { sha256 } from "../src/sha256.js";

const hex = (bytes) => Buffer.from(bytes).toString("hex");
const known = (bytes) => createHash("sha256").update(bytes).digest("hex");

test("the examples of the standard", () => {
  const of = (text) => hex(sha256(new TextEncoder().encode(text)));
  assert.equal(of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert.equal(of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

test("every length up to 300, and longer ones", () => {
  const lengths = [...Array(301).keys(), 1000, 4095, 4096, 65537, 1_000_000];
  for (const length of lengths) {
    for (const bytes of [new Uint8Array(length), new Uint8Array(length).fill(255), randomBytes(length)]) {
      assert.equal(hex(sha256(bytes)), known(bytes), `${length} bytes: ${hex(bytes.slice(0, 99))}`);
    }
  }
});

test("a part of a larger buffer is hashed alone, and nothing is changed", () => {
  const whole = randomBytes(200);
  const before = hex(whole);
  assert.equal(hex(sha256(whole.subarray(3, 120))), known(whole.subarray(3, 120)));
  assert.equal(hex(whole), before);
});
