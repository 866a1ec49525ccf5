import { describe, expect, test } from "vitest";
import {
  createCommandsReader,
  readReport,
  toPktLine,
} from "../../../../../daemon/forge/git/push-commands.ts";

const readCommands = (bytes: Buffer) => createCommandsReader(1024).read(bytes);

const zero = "0".repeat(40);
const one = "1".repeat(40);

describe("commands of a push", () => {
  const bytes = Buffer.from(
    toPktLine(`${zero} ${one} refs/heads/ä\0 report-status side-band-64k agent=git/2`) +
      toPktLine(`${one} ${zero} refs/tags/v1\n`) +
      "0000PACK",
  );

  test("commands of a push are read with the client's capabilities", () => {
    expect(readCommands(bytes)).toEqual({
      commands: [
        { ref: "refs/heads/ä", before: zero, after: one },
        { ref: "refs/tags/v1", before: one, after: zero },
      ],
      capabilities: new Set(["report-status", "side-band-64k", "agent"]),
      options: [],
    });
  });

  test("commands of a push are awaited with the options after them", () => {
    const command = toPktLine(`${zero} ${one} refs/heads/a\0 report-status push-options`);
    const options = `${toPktLine("repo.private=true")}${toPktLine("ci.skip\n")}`;
    const whole = Buffer.from(`${command}0000${options}0000`);
    for (let length = 0; length < whole.byteLength; length += 1)
      expect(readCommands(whole.subarray(0, length))).toBeUndefined();
    expect(readCommands(whole)).toMatchObject({ options: ["repo.private=true", "ci.skip"] });
  });

  test("commands of a push are awaited until their end has arrived, for any split into chunks", () => {
    const end = bytes.indexOf("PACK");
    for (let length = 0; length < end; length += 1)
      expect(readCommands(bytes.subarray(0, length))).toBeUndefined();
    expect(readCommands(bytes.subarray(0, end))).toBeDefined();
  });

  test.each([
    "zzzz",
    "0001",
    "0003",
    "ffff",
    "0009oops!",
    toPktLine("not a command"),
    toPktLine("push-cert\0x"),
    toPktLine(`shallow ${one}\0push-options`),
    toPktLine(`${zero} ${"1".repeat(64)} refs/heads/a`),
    toPktLine(`${zero} ${one} `),
  ])("a list with %j is unreadable", (text) =>
    expect(readCommands(Buffer.from(text))).toMatchObject({ kind: "unreadable" }),
  );

  test("capabilities are those of all commands together, in the words that git finds", () => {
    const lines = [
      toPktLine(`shallow ${one}`),
      toPktLine(`${zero} ${one} refs/heads/a\0\tpush-options=1\nagent=side-band-64k\0atomic`),
      toPktLine(`${zero} ${one} refs/heads/b\0report-status`),
    ];
    const list = Buffer.from(`${lines.join("")}0000${toPktLine("ci.skip")}0000`);
    expect(readCommands(list)).toMatchObject({
      capabilities: new Set(["push-options", "agent", "report-status"]),
      options: ["ci.skip"],
    });
  });

  test("a name keeps every byte but one line feed at the end of its packet", () => {
    const names = ["refs/heads/a\n", "refs/heads/\ufeffb", "refs/heads/\ufffd"];
    const lines = names.map((name) => toPktLine(`${zero} ${one} ${name}\0report-status\n`));
    const read = readCommands(Buffer.from(`${lines.join("")}0000`));
    expect(read).toMatchObject({ commands: names.map((ref) => ({ ref })) });
  });

  test("a name that is not UTF-8 is refused, because rules and events compare names as text", () => {
    const command = Buffer.from(`${zero} ${one} refs/heads/\xe9`, "latin1");
    const length = (command.byteLength + 4).toString(16).padStart(4, "0");
    const line = Buffer.concat([Buffer.from(length), command]);
    expect(readCommands(line)).toMatchObject({
      reason: expect.stringContaining("is not UTF-8") as string,
    });
  });

  test("commands of a push are read from single bytes as from the whole", () => {
    const reader = createCommandsReader(1024);
    const end = bytes.indexOf("PACK");
    for (let at = 0; at < end - 1; at += 1)
      expect(reader.read(bytes.subarray(at, at + 1))).toBeUndefined();
    expect(reader.read(bytes.subarray(end - 1))).toEqual(readCommands(bytes));
  });

  test("a list of commands that is longer than the limit is unreadable", () => {
    const reader = createCommandsReader(64);
    const shallow = Buffer.from(toPktLine(`shallow ${one}`));
    expect(reader.read(shallow)).toBeUndefined();
    expect(reader.read(shallow)).toMatchObject({ kind: "unreadable" });
  });

  test("commands of a push may have a name with a Unicode line separator, which git allows", () => {
    const line = toPktLine(`${zero} ${one} refs/heads/a\u2028b\0 report-status`);
    expect(readCommands(Buffer.from(`${line}0000`))).toMatchObject({
      commands: [{ ref: "refs/heads/a\u2028b", before: zero, after: one }],
    });
  });

  test("a push may have no commands, because clients test the connection with it", () => {
    expect(readCommands(Buffer.from("0000"))).toMatchObject({ commands: [] });
  });
});

describe("the report on a push", () => {
  const report = `${toPktLine("unpack ok\n")}${toPktLine("ok refs/heads/a\n")}${toPktLine("ng refs/heads/b stale\n")}0000`;

  test("the report on a push names the accepted refs", () => {
    expect(readReport(Buffer.from(report), false)).toEqual(new Set(["refs/heads/a"]));
  });

  test("the report on a push is found in a side band between progress, in pieces", () => {
    const banded = [
      toPktLine("\x02Resolving"),
      toPktLine(`\x01${report.slice(0, 20)}`),
      toPktLine("\x02done"),
      toPktLine(`\x01${report.slice(20)}`),
    ].join("");
    expect(readReport(Buffer.from(`${banded}0000`), true)).toEqual(new Set(["refs/heads/a"]));
  });

  test("the report on a push may be missing", () => {
    expect(readReport(Buffer.from(""), false)).toBeUndefined();
    expect(readReport(Buffer.from(toPktLine("\x03fatal")), true)).toBeUndefined();
  });
});
