import { expect, test } from "vitest";
import { toCliError } from "../../cli/errors.ts";

test.each([
  ["ENOENT", "ENOENT: no such file or directory, open '/x, y'", "/x, y: no such file or directory"],
  ["EEXIST", "EEXIST: file already exists, link '/a' -> '/b'", "/a to /b: file already exists"],
  ["EFBIG", "EFBIG: file too large, write", "file too large"],
  ["EIO", "something else", "something else"],
])("a failure of a file (%s) is told in words, with what it is about first", (code, text, told) => {
  expect(toCliError(Object.assign(new Error(text), { code }))).toMatchObject({
    code: "file_error",
    message: told,
  });
});
