import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { keys, normal, places } from "../src/strings.js";

const VECTORS = JSON.parse(
  readFileSync(new URL("../../vectors/strings.json", import.meta.url), "utf8"),
);
const ofKind = (kind) => {
  const found = VECTORS.filter((vector) => vector.kind === kind);
  assert.ok(found.length > 0, kind);
  return found;
};
const digits = ({ low, high }) =>
  [high, low].map((half) => half.toString(16).padStart(8, "0")).join("");

test("normal forms and keys are those of the vectors", () => {
  for (const vector of ofKind("key")) {
    assert.equal(normal(vector.text), vector.normal);
    assert.deepEqual(keys(vector.text).map(digits), vector.keys, vector.text.slice(0, 40));
  }
});

test("places are those of the vectors", () => {
  for (const { text, width, cohorts, hashes, salt, places: wanted } of ofKind("places")) {
    for (const [cohort, own] of wanted) {
      assert.deepEqual(places(text, cohort, { width, cohorts, hashes, salt }), own);
    }
  }
});

test("one hash and no salt are what is left out", () => {
  const table = { width: 1000, cohorts: 8 };
  const full = { ...table, hashes: 1, salt: 0 };
  assert.deepEqual(places("tea", 5, table), places("tea", 5, full));
});

test("bad strings are refused with the reason", () => {
  for (const { text, error } of ofKind("bad")) {
    for (const refuse of [normal, keys, (bad) => places(bad, 0, { width: 2, cohorts: 1 })]) {
      assert.throws(
        () => refuse(text),
        (thrown) => thrown instanceof RangeError && thrown.message.includes(error),
      );
    }
  }
});

test("what is no string is refused, and not told", () => {
  for (const value of [7, null, undefined, ["tea"], Object.create(null), Symbol("tea")]) {
    const message = `an answer to an open question is a string, not of type ${typeof value}`;
    assert.throws(() => keys(value), new TypeError(message));
  }
});

test("a string that is no text is not told", () => {
  assert.throws(
    () => keys("SECRET\ud800"),
    (thrown) => !thrown.message.includes("SECRET") && thrown.message.endsWith("at place 6"),
  );
});

test("bad parameters are refused with value and rule", () => {
  const table = { width: 8, cohorts: 4, hashes: 2, salt: 0 };
  for (const [changed, message] of [
    [{ width: 1 }, "width must be from 2 to 65536, not 1"],
    [{ width: 65537 }, "width must be from 2 to 65536, not 65537"],
    [{ cohorts: 0 }, "cohorts must be from 1 to 65536, not 0"],
    [{ width: 65536, cohorts: 257 }, "cohorts * width must be from 2 to 16777216, not 16842752"],
    [{ hashes: 9 }, "hashes must be from 1 to 8, not 9"],
    [{ width: 1000, hashes: 17 }, "hashes must be from 1 to 16, not 17"],
    [{ salt: -1 }, "salt must be from 0 to 4294967295, not -1"],
    [{ salt: 2 ** 32 }, "salt must be from 0 to 4294967295, not 4294967296"],
  ]) {
    assert.throws(() => places("tea", 0, { ...table, ...changed }), new RangeError(message));
  }
  const cohort = new RangeError("cohort must be from 0 to 3, not 4");
  assert.throws(() => places("tea", 4, table), cohort);
  for (const [value, told] of [[2.5, "2.5"], [NaN, "NaN"], ["8", '"8"'], [undefined, "undefined"]]) {
    const message = `width must be a whole number, not ${told}`;
    assert.throws(() => places("tea", 0, { ...table, width: value }), new TypeError(message));
  }
});
