import ssh2 from "ssh2";
import { expect, test } from "vitest";
import { generateKey } from "../../../../../../daemon/forge/git/ssh/host-keys.ts";

test("every generated host key can be read by the library that serves it", async () => {
  for (let made = 0; made < 1_000; made += 1) {
    const key = await generateKey("ssh-ed25519");
    expect(ssh2.utils.parseKey(key)).not.toBeInstanceOf(Error);
  }
});
