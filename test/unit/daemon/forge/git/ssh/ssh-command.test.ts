import { expect, test } from "vitest";
import { parseSshCommand } from "../../../../../../daemon/forge/git/ssh/ssh-command.ts";

test.each([
  ["git-upload-pack '/mira/hut.git'", "git-upload-pack", "hut.git"],
  ["git-receive-pack 'mira/hut'", "git-receive-pack", "hut"],
  ["git upload-pack 'mira/hut'", "git-upload-pack", "hut"],
  ["git-upload-archive mira/hut.git", "git-upload-archive", "hut.git"],
  ["git-upload-pack '/mira/hut.git/'", "git-upload-pack", "hut.git"],
])("parses the SSH command %s", (line, service, name) =>
  expect(parseSshCommand(line)).toEqual({ service, owner: "mira", name }),
);

test.each([
  "",
  "git-upload-pack",
  "git-upload-pack ''",
  "git-upload-pack 'mira'",
  "git-upload-pack 'a/b/c'",
  "git-upload-pack '//b'",
  "git-upload-pack '../b'",
  "git-upload-pack 'a/..'",
  "git-upload-pack 'a/b\0'",
  "git-upload-pack 'a/b\n'",
  "git-upload-pack 'a/b' --x",
  "git-upload-pack --x 'a/b'",
  "git-upload-pack 'a/b'$(id)",
  "git-upload-pack `id`/b",
  "git-upload-file 'a/b'",
  "GIT-UPLOAD-PACK 'a/b'",
  " git-upload-pack 'a/b'",
])("refuses the SSH command %j", (line) => expect(parseSshCommand(line)).toBeUndefined());
