import { expect, test } from "vitest";
import { toCliError } from "../../cli/errors.ts";

test.each([
  ["ENOENT", "ENOENT: no such file or directory, open '/x, y'", "/x, y: no such file or directory"],
  ["EEXIST", "EEXIST: file already exists, link '/a' -> '/b'", "/a to /b: file already exists"],
  ["EFBIG", "EFBIG: file too large, write", "file too large"],
  ["EIO", "something else", "something else"],
])(
  "a failed file operation (%s) is reported in words that begin with the path",
  (code, text, message) => {
    expect(toCliError(Object.assign(new Error(text), { code }))).toMatchObject({
      code: "file_error",
      message,
    });
  },
);
