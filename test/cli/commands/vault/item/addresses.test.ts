import { expect, test } from "vitest";
import { isConnectionAddress } from "../../../../../cli/support/items.ts";

test.each([
  ["home:/docs", true, true],
  ["X:/docs", true, false],
  ["X:7", true, false],
  ["X:\\docs", true, false],
  ["./X:/docs", false, false],
  ["/X:/docs", false, false],
  ["~/X:", false, false],
  ["docs", false, false],
  ["docs/a:b", false, false],
])(
  "%s is an address of a connection: %s on POSIX systems, %s on Windows",
  (word, onPosix, onWindows) => {
    expect(isConnectionAddress(word, "linux")).toBe(onPosix);
    expect(isConnectionAddress(word, "darwin")).toBe(onPosix);
    expect(isConnectionAddress(word, "win32")).toBe(onWindows);
  },
);
