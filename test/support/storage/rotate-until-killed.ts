// Replaces the master key of a home again and again and prints a line for each time; the test kills it.
import { sealAgainIn } from "../../../daemon/composition/seal-again.ts";
import { openSqlite } from "../../../storage/engine/sqlite.ts";
import {
  addKey,
  assertKeyOfDatabase,
  retireOldKeys,
  openKeyring,
} from "../../../storage/keys/open.ts";
import { rotateMasterKey } from "../../../storage/keys/rotation.ts";

const [path = "", directory = ""] = process.argv.slice(2);
const db = openSqlite({ path, clock: Date.now });
const at = { directory, source: "file", masterKey: undefined, mayCreate: false } as const;

for (;;) {
  const keyring = await openKeyring(at);
  await assertKeyOfDatabase(db, keyring.checks, Date.now());
  await rotateMasterKey({
    db,
    keyring,
    addKey: () => addKey(at),
    retireOldKeys: () => retireOldKeys(at),
    sealAgainIn,
    skipUnreadable: false,
  });
  process.stdout.write("rotated\n");
}
